import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { JsonBodyError, parseJsonBody } from '../../lib/json-body.ts';
import { anthropic } from './anthropic.ts';
import { chatCompletions } from './chat-completions.ts';
import { RequestError } from './conversation.ts';
import { countRequestTokens } from './count-tokens.ts';
import { decide } from './decide.ts';
import { DroppedError, paced } from './frames.ts';
import { modelList } from './model-list.ts';
import type { Provider } from './provider.ts';
import { makeReply, type Reply } from './reply.ts';
import { responses } from './responses.ts';

export type ModelRequest = {
  method: string;
  /** The path below the address of the model API, such as `/v1/messages`; a query is of no interest. */
  path: string;
  headers: IncomingHttpHeaders;
  /** The whole body, which whoever has read it has kept within bounds. */
  body: Buffer;
};

export type ModelAnswer = {
  status: number;
  headers: Record<string, string>;
  /** Ends by an error where the connection has to break off. */
  body: AsyncIterable<string>;
};

export type ScriptedModel = {
  /** What is to be answered. Rejects when the signal aborts, as the body then does. */
  compose(request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer>;
  /** Composes an answer and sends it; resolves when it is sent or cannot be sent any more. */
  answer(request: ModelRequest, response: ServerResponse, signal: AbortSignal): Promise<void>;
};

const MAX_DEPTH = 200;

const providers: [path: string, provider: Provider][] = [
  ['/messages', anthropic],
  ['/responses', responses],
  ['/chat/completions', chatCompletions],
];

/**
 * The offline model: it speaks the three model APIs that agents use and does what the user's message tells it
 * literally, by the steps of `SCRIPT:[{"shell":"…"},{"text":"…"}]`. A message without steps gets a small demonstration.
 * It remembers nothing, so that it works after kills and resumes and for any number of chats at once.
 */
export function createScriptedModel({ now, newId }: { now: () => Date; newId: () => string }): ScriptedModel {
  return { compose, answer };

  async function compose(request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer> {
    const { method, headers, body } = request;
    const [path = ''] = request.path.split('?', 1);
    // Agents look whether somebody is there before they ask.
    if (method === 'HEAD') return json(200, {});
    if (method === 'GET' && path.endsWith('/models')) return json(200, modelList(now()));
    if (method === 'POST' && path.endsWith('/messages/count_tokens'))
      return json(200, { input_tokens: countRequestTokens(body) });
    const [, provider] = providers.find(([end]) => method === 'POST' && path.endsWith(end)) ?? [];
    if (provider) return converse(provider, body, signal);
    const { refusal } = 'anthropic-version' in headers ? anthropic : responses;
    const message = `The offline model has no answer to ${method} ${path}.`;
    return json(404, refusal({ type: 'not_found_error', message }));
  }

  async function converse(provider: Provider, body: Buffer, signal: AbortSignal): Promise<ModelAnswer> {
    try {
      const conversation = provider.read(parseJsonBody(body, { maxDepth: MAX_DEPTH }));
      const { step, call } = decide(conversation);
      if (step.hang !== undefined) await delay(step.hang, undefined, { signal });
      if (step.error) return json(step.error.status, provider.refusal(step.error));
      const inputTokens = countRequestTokens(body);
      const reply = makeReply({ conversation, step, call, inputTokens, now, newId });
      return conversation.isStreamed
        ? succeed('text/event-stream', provider.frames(reply, signal))
        : succeed('application/json', whole(provider, reply, signal));
    } catch (error) {
      if (!(error instanceof RequestError || error instanceof JsonBodyError)) throw error;
      return json(400, provider.refusal({ type: 'invalid_request_error', message: error.message }));
    }
  }

  async function answer(request: ModelRequest, response: ServerResponse, signal: AbortSignal): Promise<void> {
    try {
      const { status, headers, body } = await compose(request, signal);
      response.writeHead(status, headers).flushHeaders();
      await pipeline(body, response, { signal });
    } catch (error) {
      const isExpected = response.destroyed || signal.aborted || error instanceof DroppedError;
      response.destroy();
      if (!isExpected) throw error;
    }
  }
}

/** At the pace of a stream, so that a slow answer is slow in either form. */
async function* whole(provider: Provider, reply: Reply, signal: AbortSignal): AsyncGenerator<string> {
  for await (const _ of paced(reply, signal));
  if (reply.isDropped) throw new DroppedError();
  yield JSON.stringify(provider.whole(reply));
}

function succeed(type: string, body: AsyncIterable<string>): ModelAnswer {
  return { status: 200, headers: { 'content-type': type }, body };
}

function json(status: number, body: object): ModelAnswer {
  const text = (async function* () {
    yield JSON.stringify(body);
  })();
  return { ...succeed('application/json', text), status };
}
