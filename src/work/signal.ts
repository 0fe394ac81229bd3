/*
 * Hints between the processes of the service: "look again at this topic". A hint says that something may have changed,
 * never what; whoever gets one reads the database, by the sequence of what was already read. So a hint may come twice,
 * early, or for nothing, and one that is lost costs only the time until the next look.
 *
 * - In this process a hint reaches its listeners in the next microtask. The others get one NOTIFY in 5 ms at most, which
 *   names every topic once, on a connection that is kept for it. Committing a NOTIFY takes a lock that the whole
 *   database server shares, which is why it is never part of a transaction that does something else.
 * - The same connection listens. When it was lost and is back, every listener is called, because hints may have been
 *   missed; what was touched meanwhile is sent then. When that is too much to keep, the others are told to look at
 *   everything.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { describeError } from '../lib/log.ts';
import { createSignalConnection } from './signal-connection.ts';
import { EVERYTHING, packTopics, parseHint } from './signal-payload.ts';

export type Signals = {
  /** Tells every process that something about the topic may have changed. Never throws, never waits. */
  touch(topic: string): void;
  /** Calls `listener` for every hint until the returned function is called. */
  subscribe(topic: string, listener: () => void): () => void;
  /** Ends at the next hint, after `timeoutMs`, or when the signal is aborted. Hints before the call do not count. */
  wait(topic: string, signal: AbortSignal, timeoutMs: number): Promise<void>;
  /** For whoever reads, waits, and reads again: a hint that comes while they read ends their next wait. */
  follow(topic: string): Follower;
  /** Ends when the connection stands, or when the first try has failed; it is tried again without end. */
  start(): Promise<void>;
  stop(): Promise<void>;
};

export type Follower = Disposable & {
  /** Ends at the first hint since the last call, after `timeoutMs`, or when the signal is aborted. */
  next(signal: AbortSignal, timeoutMs: number): Promise<void>;
};

const BATCH_MS = 5;
/** Topics kept for the other processes while the connection is away. */
const MAX_OUTGOING = 10_000;

export function createSignals({ url, log }: { url: string; log: Logger }): Signals {
  const self = randomUUID();
  const listeners = new Map<string, Set<() => void>>();
  const nearby = new Set<string>();
  const outgoing = new Set<string>();
  let batch: NodeJS.Timeout | null = null;
  let sending: Promise<void> | null = null;
  let sentAtMs = 0;
  const connection = createSignalConnection({
    url,
    log,
    onHint(payload) {
      const hint = parseHint(payload);
      if (hint && hint.from !== self) for (const topic of hint.topics) deliver(topic);
    },
    onConnected({ isAgain }) {
      if (isAgain) deliver(EVERYTHING);
      if (outgoing.size > 0) sendSoon();
    },
  });

  function deliver(topic: string): void {
    const called = topic === EVERYTHING ? [...listeners.values()] : [listeners.get(topic) ?? new Set()];
    for (const listener of called.flatMap((some) => [...some])) {
      try {
        listener();
      } catch (error) {
        log.error({ err: describeError(error) }, 'signals.listener_failed');
      }
    }
  }

  function deliverNearby(): void {
    const topics = [...nearby];
    nearby.clear();
    for (const topic of topics) deliver(topic);
  }

  function keepOutgoing(topics: Iterable<string>): void {
    for (const topic of topics) outgoing.add(topic);
    if (outgoing.size <= MAX_OUTGOING) return;
    outgoing.clear();
    outgoing.add(EVERYTHING);
  }

  function sendSoon(): void {
    if (batch || sending) return;
    const pauseMs = sentAtMs + BATCH_MS - performance.now();
    batch = setTimeout(
      () => {
        batch = null;
        sending = sendOutgoing();
      },
      Math.max(pauseMs, 0),
    );
  }

  /** What is touched meanwhile waits, so that a slow server gets fewer and larger notifications. */
  async function sendOutgoing(): Promise<void> {
    sentAtMs = performance.now();
    const topics = [...outgoing];
    outgoing.clear();
    const isSent = await connection.send(packTopics(self, topics));
    sending = null;
    if (outgoing.size > 0 && connection.isUp()) sendSoon();
    if (!isSent) keepOutgoing(topics);
  }

  function subscribe(topic: string, listener: () => void): () => void {
    const some = listeners.get(topic) ?? new Set();
    listeners.set(topic, some.add(listener));
    return () => {
      some.delete(listener);
      if (some.size === 0 && listeners.get(topic) === some) listeners.delete(topic);
    };
  }

  function follow(topic: string): Follower {
    let isTouched = false;
    let wake = () => {};
    const unsubscribe = subscribe(topic, () => {
      isTouched = true;
      wake();
    });
    return {
      async next(signal, timeoutMs) {
        if (!isTouched && !signal.aborted) {
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          const timer = setTimeout(wake, timeoutMs);
          signal.addEventListener('abort', wake);
          await promise;
          clearTimeout(timer);
          signal.removeEventListener('abort', wake);
        }
        isTouched = false;
      },
      [Symbol.dispose]: unsubscribe,
    };
  }

  return {
    touch(topic) {
      if (nearby.size === 0) queueMicrotask(deliverNearby);
      nearby.add(topic);
      keepOutgoing([topic]);
      if (connection.isUp()) sendSoon();
    },
    subscribe,
    follow,
    async wait(topic, signal, timeoutMs) {
      using follower = follow(topic);
      await follower.next(signal, timeoutMs);
    },
    start: connection.start,
    async stop() {
      await sending;
      if (batch) clearTimeout(batch);
      if (connection.isUp() && outgoing.size > 0) await sendOutgoing();
      await connection.stop();
    },
  };
}
