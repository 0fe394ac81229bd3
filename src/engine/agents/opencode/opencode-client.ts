import { Agent, type IncomingMessage, request as sendRequest } from 'node:http';
import { AgentFailure, type JsonObject } from '../agent.ts';
import { objectAt, textAt } from '../json-fields.ts';
import { readOpencodeStream } from './opencode-stream.ts';

export type OpencodeClient = {
  /** Throws an `OpencodeRefusal` for an answer that is no success. Without a limit it waits for as long as it takes. */
  ask(request: {
    method: 'GET' | 'POST';
    path: string;
    body?: JsonObject;
    limitMs?: number | null;
  }): Promise<unknown>;
  /** What happens from now on, until the signal comes or the server ends. The first event says that it has begun. */
  events(signal: AbortSignal): AsyncIterable<JsonObject>;
};

/** The server's own no. */
export class OpencodeRefusal extends AgentFailure {
  override name = 'OpencodeRefusal';
  readonly status: number;

  constructor(status: number, words: string) {
    super(`OpenCode refused what it was asked for: ${words || `status ${status}`}`);
    this.status = status;
  }
}

/** Speaks to an opencode server on the loopback address, past every proxy. */
export function createOpencodeClient({
  port,
  password,
  log,
}: {
  port: number;
  password: string;
  log(line: string): void;
}): OpencodeClient {
  // An agent of its own knows nothing of the proxy in the environment. A connection that is kept would now and then be
  // closed by the server in the moment it is used again.
  const agent = new Agent({ keepAlive: false });
  const credentials = Buffer.from(`${USER_NAME}:${password}`).toString('base64');
  const headers = { authorization: `Basic ${credentials}`, 'content-type': 'application/json' };

  function open(
    { method, path, body }: { method: string; path: string; body?: JsonObject | undefined },
    signal: AbortSignal | null,
  ): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const target = { host: '127.0.0.1', port, method, path, headers, agent };
    const request = sendRequest({ ...target, ...(signal && { signal }) }, resolve);
    request.on('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
    return promise;
  }

  return {
    async ask({ limitMs = LIMIT_MS, ...request }) {
      const answer = await open(request, limitMs === null ? null : AbortSignal.timeout(limitMs));
      const text = await readText(answer);
      const { statusCode = 0 } = answer;
      if (statusCode >= 300) throw new OpencodeRefusal(statusCode, wordsOf(text));
      return text === '' ? null : (JSON.parse(text) as unknown);
    },
    async *events(signal) {
      const stream = await open({ method: 'GET', path: '/event' }, signal);
      stream.setEncoding('utf8');
      const dropped = (characters: number) =>
        log(`an event of opencode was dropped: it has ${characters} characters`);
      yield* readOpencodeStream(stream, { maxCharacters: MAX_CHARACTERS, dropped });
    },
  };
}

/** The name that the server expects, whatever the environment says. */
export const USER_NAME = 'opencode';
const LIMIT_MS = 60_000;
const MAX_CHARACTERS = 32 * 1_048_576;

async function readText(answer: IncomingMessage): Promise<string> {
  answer.setEncoding('utf8');
  let text = '';
  for await (const chunk of answer) {
    text += chunk as string;
    if (text.length > MAX_CHARACTERS) throw new AgentFailure('OpenCode gave an answer that is too long.');
  }
  return text;
}

function wordsOf(text: string): string {
  try {
    const said = objectAt({ said: JSON.parse(text) as unknown }, 'said');
    return textAt(objectAt(said, 'data'), 'message') || textAt(said, 'message');
  } catch {
    return '';
  }
}
