import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { request as call, type Dispatcher } from 'undici';
import { guardedDispatcher, PrivateTargetError } from '../lib/address-guard.ts';
import type { ModelApi } from '../model/api.ts';
import type { TokenUsage } from '../model/usage.ts';
import { refuseAnnounced, streamModelBody } from './model-body.ts';
import { ModelRefusal } from './model-refusal.ts';
import { passAnswer } from './pass-answer.ts';
import { TooLargeError } from './read-body.ts';

type Asked = {
  api: ModelApi;
  /** The provider's own path. */
  path: string;
  request: IncomingMessage;
  response: ServerResponse;
  credential: { apiKey: string; baseUrl: string | null };
  signal: AbortSignal;
};

/** A model may think for long before it says anything. */
const SILENCE_MS = 15 * 60_000;
/** What providers ask their clients to say of themselves, and nothing that says who the client is. */
const passedUp =
  /^(content-(type|encoding|length)|accept|user-agent|anthropic-(version|beta)|openai-beta|http-referer|x-title)$/;
const passedDown =
  /^(content-(type|encoding)|retry-after(-ms)?|request-id|x-request-id|x-should-retry|anthropic-ratelimit-.*|x-ratelimit-.*|openai-processing-ms)$/;

/**
 * Passes a request on to a provider with the organization's key, and its answer back, both as they come. Null when the
 * answer has used nothing; a `ModelRefusal` when there is none.
 */
export function createModelUpstream({ allowPrivateTargets }: { allowPrivateTargets: boolean }) {
  const dispatcher = guardedDispatcher({ allowPrivateTargets });

  async function send({ api, path, request, credential, signal }: Asked): Promise<Dispatcher.ResponseData> {
    refuseAnnounced(request);
    const query = /\?.*$/.exec(request.url ?? '')?.[0] ?? '';
    return call(`${addressOf(credential.baseUrl ?? api.usualBaseUrl, path)}${query}`, {
      method: request.method === 'GET' ? 'GET' : 'POST',
      dispatcher,
      signal,
      headersTimeout: SILENCE_MS,
      bodyTimeout: SILENCE_MS,
      headers: {
        ...pick(request.headers, passedUp),
        ...api.authorize(credential.apiKey),
        // What is packed could not be read for its usage.
        'accept-encoding': 'identity',
      },
      ...(hasBody(request) && { body: Readable.from(streamModelBody(request), { objectMode: false }) }),
    });
  }

  return async function passOn(asked: Asked): Promise<TokenUsage | null> {
    const { response, signal } = asked;
    const answer = await send(asked).catch((error: unknown) => {
      signal.throwIfAborted();
      throw refusalOf(error);
    });
    const { statusCode: status, body } = answer;
    if (status >= 300 && status < 400) {
      body.once('error', () => {}).destroy();
      throw new ModelRefusal(
        502,
        'The model provider redirects to another address; an admin sets that one as base_url.',
      );
    }
    const headers = pick(answer.headers as IncomingHttpHeaders, passedDown);
    return passAnswer(response, { status, headers, body }, signal);
  };
}

/** People write the version at the end of an address or not, as they know it from elsewhere. */
function addressOf(baseUrl: string, path: string): string {
  return path.startsWith('/v1/') ? `${baseUrl.replace(/\/v1$/, '')}${path}` : `${baseUrl}${path}`;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function refusalOf(error: unknown): ModelRefusal {
  if (error instanceof TooLargeError) return new ModelRefusal(413, error.message);
  const isPrivate =
    error instanceof PrivateTargetError || (error as Error).cause instanceof PrivateTargetError;
  const sentence = isPrivate
    ? 'The address of the model provider is not public, and this service does not allow private targets.'
    : 'The model provider cannot be reached.';
  return new ModelRefusal(502, sentence, { cause: error });
}

function pick(headers: IncomingHttpHeaders, names: RegExp): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value = '']) =>
      // What a header cannot carry on is left out.
      names.test(name) && /^[\t\x20-\x7e]+$/.test(String(value)) ? [[name, String(value)]] : [],
    ),
  );
}
