import type { JsonObject } from '../agent.ts';
import type { OpencodeClient } from './opencode-client.ts';

type Stream = {
  /** Whether anything can still be heard. */
  isOpen(): boolean;
  /** What is heard from now on, after an event that says that listening has begun. One at a time may hear. */
  hear(signal: AbortSignal): AsyncGenerator<JsonObject>;
  close(): void;
};

export type OpencodeEar = ReturnType<typeof createOpencodeEar>;

/**
 * Listens to opencode between messages as well: opening a stream of events takes it about as long as everything the
 * service does on the way to it, and every stream that was ever opened makes its next messages slower. What is heard
 * between messages is of no concern to them and is dropped.
 */
export function createOpencodeEar(client: Pick<OpencodeClient, 'events'>) {
  let stream: Stream | null = null;

  function present(): Stream {
    if (!stream?.isOpen()) stream = openStream(client);
    return stream;
  }

  return {
    open: () => void present(),
    events: (signal: AbortSignal) => present().hear(signal),
    /** The next who wants to hear something gets another stream, without what is still to come in this one. */
    close(): void {
      stream?.close();
      stream = null;
    },
  };
}

function openStream(client: Pick<OpencodeClient, 'events'>): Stream {
  const ending = new AbortController();
  let first: JsonObject | null = null;
  let heard: JsonObject[] | null = null;
  let end: { failure: unknown } | null = null;
  let news = Promise.withResolvers<void>();

  async function listen(): Promise<void> {
    for await (const event of client.events(ending.signal)) {
      first ??= event;
      heard?.push(event);
      news.resolve();
    }
  }
  listen()
    .then(
      () => null,
      (failure: unknown) => failure,
    )
    .then((failure) => {
      end = { failure };
      news.resolve();
    });

  return {
    isOpen: () => end === null,
    close: () => ending.abort(),
    async *hear(signal) {
      const own: JsonObject[] = first === null ? [] : [first];
      heard = own;
      const onAbort = () => news.resolve();
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        while (!signal.aborted) {
          const event = own.shift();
          if (event) yield event;
          else if (end === null) {
            await news.promise;
            news = Promise.withResolvers();
          } else if (end.failure === null) return;
          else throw end.failure;
        }
      } finally {
        signal.removeEventListener('abort', onAbort);
        if (heard === own) heard = null;
      }
    },
  };
}
