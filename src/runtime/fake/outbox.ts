import { once } from 'node:events';
import { request } from 'node:http';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { engineLimits } from '../../engine/limits.ts';
import type { EngineReport } from '../../engine/protocol.ts';
import { PROTOCOL_HEADER, protocolVersions } from '../../engine/version.ts';
import type { FakeDisk } from './machine.ts';

const RETRY_MS = 100;
const ANSWER_LIMIT_MS = 10_000;

export type FakeOutbox = {
  report(report: EngineReport): void;
  /** Ends when the gateway has taken everything, or the outbox was stopped. */
  flush(): Promise<void>;
};

type Options = {
  disk: FakeDisk;
  gatewayFolder: string;
  secret: string;
  incarnation: number;
  now: () => Date;
  /** Aborted when the engine ends. */
  signal: AbortSignal;
};

/** Posts reports to the gateway like the real one: in order, numbered without gaps, again and again until taken. */
export function createFakeOutbox({
  disk,
  gatewayFolder,
  secret,
  incarnation,
  now,
  signal,
}: Options): FakeOutbox {
  const { outbox } = disk;
  let acked: number | null = null;
  let sending: Promise<void> | null = null;

  async function call(
    method: 'GET' | 'POST',
    url: string,
    body?: object,
  ): Promise<{ status: number; acked: number }> {
    const outgoing = request({
      socketPath: path.join(gatewayFolder, 'gateway.sock'),
      method,
      path: url,
      agent: false,
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_LIMIT_MS)]),
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        [PROTOCOL_HEADER]: String(protocolVersions.newest),
      },
    });
    outgoing.end(body && JSON.stringify(body));
    const [answer] = await once(outgoing, 'response');
    const value: unknown = await json(answer);
    const known =
      typeof value === 'object' && value !== null && 'acked' in value ? Number(value.acked) : Number.NaN;
    if (Number.isNaN(known)) throw new Error(`The gateway answered ${answer.statusCode}.`);
    return { status: Number(answer.statusCode), acked: known };
  }

  async function sendOnce(): Promise<void> {
    acked ??= (await call('GET', '/engine/state')).acked;
    outbox.lastSeq = Math.max(outbox.lastSeq, acked);
    for (const waiting of outbox.waiting) waiting.seq ??= ++outbox.lastSeq;
    const events = outbox.waiting
      .slice(0, engineLimits.batchEvents)
      .map(({ at, report, seq }) => ({ seq, at, ...report }));
    const answer = await call('POST', '/engine/events', { incarnation, events });
    // Another incarnation may be the present one: then the events are for the next start to send.
    const isLeft = answer.status === 409 && answer.acked === acked;
    acked = answer.acked;
    if (answer.status === 409) renumber(acked);
    else outbox.waiting = outbox.waiting.filter(({ seq }) => seq === null || seq > answer.acked);
    if (isLeft) await delay(RETRY_MS, undefined, { signal, ref: false });
  }

  /** The gateway misses a number that this disk does not have: what is left follows the last one it knows. */
  function renumber(from: number): void {
    outbox.waiting = outbox.waiting.filter(({ seq }) => seq === null || seq > from);
    outbox.lastSeq = from;
    for (const waiting of outbox.waiting) waiting.seq = ++outbox.lastSeq;
  }

  async function send(): Promise<void> {
    while (outbox.waiting.length > 0 && !signal.aborted) {
      try {
        await sendOnce();
      } catch {
        acked = null;
        // Aborted by the end of the engine, which is not a failure.
        await delay(RETRY_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  }

  function wake(): Promise<void> {
    sending ??= send().then(() => {
      sending = null;
      // A report that came after the last look must not wait for the one after it.
      return outbox.waiting.length > 0 && !signal.aborted ? wake() : undefined;
    });
    return sending;
  }

  // What an earlier start has left is sent even if this one reports nothing.
  void wake();
  return {
    report(report) {
      outbox.waiting.push({ at: now().toISOString(), report, seq: null });
      void wake();
    },
    flush: wake,
  };
}
