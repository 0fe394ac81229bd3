import { readSse } from '../../src/client/sse.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the parts of an event it is about.
export type Event = { id: string | null; event: string; data: any };
export type Frame = Event | { comment: string };

/** A stream of the service that stays open until it ends or is closed. */
export type EventStream = AsyncIterableIterator<Frame> &
  AsyncDisposable & {
    headers: Headers;
    /** Reads on to the next event, or to the next one of this name. */
    event(name?: string, withinMs?: number): Promise<Event>;
    close(): Promise<void>;
  };

export type ApiStream = (
  method: string,
  path: string,
  options?: { body?: unknown; headers?: Record<string, string> },
) => Promise<EventStream>;

/** How long a test waits for an event. */
const EVENT_WITHIN_MS = 15_000;
/** How long a plain call listens to a stream that says nothing. */
const OPENING_MS = 200;

/** Opens streams as one caller; a refusal is thrown, since `caller` is there for those. */
export function streamer(baseUrl: string, token?: string): ApiStream {
  return async (method, path, { body, headers = {} } = {}) => {
    const connection = new AbortController();
    const answer = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: connection.signal,
    });
    const type = answer.headers.get('content-type') ?? '';
    if (!answer.ok || !answer.body || !type.startsWith('text/event-stream'))
      throw new Error(`${method} ${path} is no stream: ${answer.status} ${await answer.text()}`);
    // Taken hold of at once: a body that nobody reads yet is cut when its answer is collected as garbage.
    return toEventStream(answer.headers, framesOf(answer.body.values()), connection);
  };
}

/** The data of the events with which a stream begins: of the first one, or none when it stays silent. */
export async function readOpening(answer: Response, hangUp: AbortController): Promise<unknown[]> {
  const late = setTimeout(() => hangUp.abort(), OPENING_MS);
  try {
    for await (const frame of framesOf(answer.body ?? new ReadableStream())) {
      if ('data' in frame) return [frame.data];
    }
    return [];
  } catch (error) {
    if (hangUp.signal.aborted) return [];
    throw error;
  } finally {
    clearTimeout(late);
    hangUp.abort();
  }
}

async function* framesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  for await (const message of readSse(body))
    yield 'comment' in message ? message : { ...message, data: JSON.parse(message.data) };
}

function toEventStream(
  headers: Headers,
  frames: AsyncGenerator<Frame>,
  connection: AbortController,
): EventStream {
  async function close(): Promise<void> {
    connection.abort();
    await frames.return(undefined).catch(() => undefined);
  }
  async function event(name?: string, withinMs = EVENT_WITHIN_MS): Promise<Event> {
    const late = setTimeout(() => connection.abort(new Error(`no event ${name ?? ''} came`)), withinMs);
    try {
      for (let step = await frames.next(); !step.done; step = await frames.next()) {
        if ('data' in step.value && (name === undefined || step.value.event === name)) return step.value;
      }
    } finally {
      clearTimeout(late);
    }
    throw new Error(`the stream ended without an event ${name ?? ''}`);
  }
  return {
    headers,
    event,
    close,
    next: () => frames.next(),
    [Symbol.asyncIterator]() {
      return this;
    },
    [Symbol.asyncDispose]: close,
  };
}
