import type { JsonObject } from '../agent.ts';
import type { OpencodeClient } from './opencode-client.ts';

type Ear = {
  /** Whether it still hears anything. */
  isOpen(): boolean;
  /** What is heard from now on, after an event that says that listening has begun. */
  hear(signal: AbortSignal): AsyncGenerator<JsonObject>;
  close(): void;
};

export type OpencodeEars = ReturnType<typeof createOpencodeEars>;

/**
 * Listens for the next message before it comes: opening the stream of events takes opencode about as long as everything
 * the service does on the way to it. What is heard before the message is of no concern to it and is dropped.
 */
export function createOpencodeEars(client: Pick<OpencodeClient, 'events'>) {
  let spare: Ear | null = null;

  return {
    /** Called when a message is done with. */
    prepare(): void {
      spare?.close();
      spare = openEar(client);
    },
    events(signal: AbortSignal): AsyncGenerator<JsonObject> {
      const ear = spare?.isOpen() ? spare : openEar(client);
      spare = null;
      return ear.hear(signal);
    },
    close(): void {
      spare?.close();
      spare = null;
    },
  };
}

function openEar(client: Pick<OpencodeClient, 'events'>): Ear {
  const ending = new AbortController();
  let heard: JsonObject[] | null = null;
  let first: JsonObject | null = null;
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
      heard = first === null ? [] : [first];
      const onAbort = () => ending.abort();
      if (signal.aborted) onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        for (;;) {
          yield* heard.splice(0);
          if (heard.length > 0) continue;
          if (end) break;
          await news.promise;
          news = Promise.withResolvers();
        }
        if (end.failure !== null) throw end.failure;
      } finally {
        signal.removeEventListener('abort', onAbort);
        ending.abort();
      }
    },
  };
}
