import { setTimeout as delay } from 'node:timers/promises';
import type { Operation } from '../contract/operation.ts';
import { ApiError, toStreamError } from './api-error.ts';
import { type ClientOptions, type LooseCall, request } from './request.ts';
import { readSse } from './sse.ts';

/** One event of a stream. */
export type StreamEvent<Data = unknown> = { id: string | null; event: string; data: Data };

export type StreamOptions = {
  signal?: AbortSignal;
  /** Begins after the event with this id. */
  lastEventId?: string;
};

/** The service sends a comment every 15 s, so a connection that is silent for longer is dead. */
const SILENT_MS = 45_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** How often in a row a stream is opened again in vain; about a minute and a half altogether. */
const MAX_FAILURES = 15;

/**
 * The events of a stream, in order and each once. A connection that drops is opened again after the last event that
 * came; what is not to be repeated (a POST, or a stream without ids that has begun) is not. Ends when the service has
 * ended the stream, and throws when it says that the stream has failed, or when the signal is aborted.
 */
export async function* openStream(
  options: ClientOptions,
  operation: Operation,
  call: LooseCall & StreamOptions,
): AsyncGenerator<StreamEvent> {
  let lastEventId = call.lastEventId ?? null;
  let isOpened = false;
  let hasBegun = false;
  let failures = 0;
  for (;;) {
    try {
      for await (const event of readEvents(options, operation, { ...call, lastEventId })) {
        isOpened = true;
        if (!event) continue;
        failures = 0;
        if (event.id !== null && event.id === lastEventId) continue;
        lastEventId = event.id ?? lastEventId;
        hasBegun = true;
        yield event;
      }
      return;
    } catch (error) {
      call.signal?.throwIfAborted();
      const mayResume = operation.method === 'GET' && isOpened && (lastEventId !== null || !hasBegun);
      if (!mayResume || !isPassing(error) || failures === MAX_FAILURES) throw error;
      await pause(failures, call.signal);
      failures += 1;
    }
  }
}

type Opening = LooseCall & { lastEventId: string | null };

/** The events of one connection, and null for whatever else shows that it stands. */
async function* readEvents(
  options: ClientOptions,
  operation: Operation,
  { lastEventId, ...call }: Opening,
): AsyncGenerator<StreamEvent | null> {
  const connection = new AbortController();
  const hangUp = () => connection.abort(call.signal?.reason);
  call.signal?.addEventListener('abort', hangUp);
  if (call.signal?.aborted) hangUp();
  // While whoever reads is busy with an event nothing is taken from the connection, and nothing can be heard.
  let isListening = true;
  const silence = setTimeout(() => {
    if (isListening) connection.abort(new Error('the stream fell silent'));
  }, SILENT_MS);
  try {
    const headers = { ...call.headers, ...(lastEventId !== null && { 'last-event-id': lastEventId }) };
    const answer = await request(options, operation, { ...call, headers, signal: connection.signal });
    yield null;
    for await (const message of readSse(answer.body ?? new ReadableStream())) {
      silence.refresh();
      if ('comment' in message) continue;
      const { id, event } = message;
      const data: unknown = JSON.parse(message.data);
      if (event === 'error' && id === null) throw toStreamError(answer, data);
      isListening = false;
      yield { id, event, data };
      isListening = true;
      silence.refresh();
    }
  } finally {
    clearTimeout(silence);
    call.signal?.removeEventListener('abort', hangUp);
    connection.abort();
  }
}

/** Whether trying again may help: a broken connection, or a service in trouble. */
function isPassing(error: unknown): boolean {
  if (error instanceof ApiError) return error.status >= 500 || error.status === 429;
  return !(error instanceof SyntaxError);
}

/** Readers that lost the same service come back one by one. */
async function pause(failures: number, signal: AbortSignal | undefined): Promise<void> {
  const longestMs = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
  const pauseMs = longestMs * (0.5 + Math.random() / 2);
  await delay(pauseMs, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
}
