import { type Dispatcher, request } from 'undici';
import { z } from 'zod';
import { GitHostError } from './host.ts';

/** One repository on one host, and how it is spoken to. */
export type GitHostAccess = {
  apiUrl: string;
  token: string;
  /** The repository as the host names it. */
  fullName: string;
  dispatcher: Dispatcher;
};

type Call = {
  method: 'GET' | 'POST';
  path: string;
  body?: object;
  /** A refusal that is no failure: the answer is then null, and `said` is what the host says of it. */
  accept?: number;
};
export type CallGitHost = <S extends z.ZodType>(
  call: Call,
  schema: S,
  signal: AbortSignal,
) => Promise<{ answer: z.output<S>; said: null } | { answer: null; said: string }>;

const LIMIT_MS = 20_000;
const MAX_BYTES = 2_000_000;

/**
 * What a host tells of something that it has made, kept within what can be stored and shown. Parsers of addresses pass over
 * line breaks and blanks; agents are told addresses as they are, so each has to be one word.
 */
export const webUrl = z
  .url({ protocol: /^https?$/ })
  .max(2_048)
  .regex(/^[^\s\p{C}]+$/u);
export const commit = z
  .string()
  .regex(/^[0-9a-f]{40,64}$/)
  .nullish()
  .transform((sha) => sha ?? null);
export const instant = z.iso
  .datetime({ offset: true })
  .nullish()
  .transform((text) => (text ? new Date(text) : null));
export const pullNumber = z.int().min(1).max(2_147_483_647);

/** Calls of one host's API with the organization's token, of which nothing comes back, whatever the host repeats. */
export function createCallGitHost(
  { apiUrl, token, dispatcher }: GitHostAccess,
  headers: Record<string, string> = {},
): CallGitHost {
  return async function call({ method, path, body, accept }, schema, signal) {
    const { status, text } = await send().catch((cause: unknown) => {
      signal.throwIfAborted();
      throw new GitHostError('The git host cannot be reached.', { kind: 'unreachable', cause });
    });
    const answer = parse(without(token, text));
    if (status === accept) return { answer: null, said: sentenceIn(answer) };
    if (status < 200 || status >= 300) throw refusalOf(status, sentenceIn(answer));
    const parsed = schema.safeParse(answer);
    if (!parsed.success) throw new GitHostError('The git host answered with something unknown.');
    return { answer: parsed.data, said: null };

    async function send(): Promise<{ status: number; text: string }> {
      const { statusCode, body: answered } = await request(`${apiUrl}${path}`, {
        method,
        dispatcher,
        signal: AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]),
        headers: {
          authorization: `Bearer ${token}`,
          'user-agent': 'replica-service',
          ...headers,
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: statusCode, text: await readText(answered) };
    }
  };
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function refusalOf(status: number, said: string): GitHostError {
  const kind = status === 401 ? 'unauthorized' : 'refused';
  return new GitHostError(refusalSentence(status, said), { status, kind });
}

function refusalSentence(status: number, said: string): string {
  const reason = said === '' ? '' : ` It says: ${said}.`;
  if (status === 401 || status === 403)
    return `The git host refused the token: it is wrong, has expired, lacks the right to open pull requests, or was used too often.${reason}`;
  if (status === 404)
    return 'The git host does not know the repository or pull request, or the token may not see it.';
  if (status >= 300 && status < 400)
    return 'The git host redirects to another address: the repository was moved or renamed. Connect it anew under its present URL.';
  return `The git host answered ${status}.${reason}`;
}

/** Hosts say why in one of these fields, some with more about it in `errors`. */
function sentenceIn(answer: unknown): string {
  const { message, error, errors } = (answer ?? {}) as Record<'message' | 'error' | 'errors', unknown>;
  const said = [message ?? error, errors].filter((part) => part !== undefined && part !== null).map(asText);
  return said.join(' ').replace(/\s+/g, ' ').replace(/\.$/, '').slice(0, 300);
}

function asText(said: unknown): string {
  return typeof said === 'string' ? said : JSON.stringify(said);
}

/** What is shorter is no secret, and may stand in any text. */
function without(token: string, text: string): string {
  return token.length < 8 ? text : text.replaceAll(token, '');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
