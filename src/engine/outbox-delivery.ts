import { type BackOff, createBackOff } from './back-off.ts';
import type { GatewayAnswer, GatewayClient } from './context.ts';
import { engineLimits } from './limits.ts';
import type { OutboxLog } from './outbox-log.ts';

const REQUEST_TIMEOUT_MS = 30_000;
/** A number and its comma around each line, and the frame around all. */
const OVERHEAD_BYTES = 100 + engineLimits.batchEvents * 32;

/** Statuses that speak of the moment, not of the events. */
const passing = new Set([401, 404, 408, 425, 429]);

/** Events of an earlier process that the gateway may refuse before all of them count as forged. */
const MAX_REFUSED = 20;

export type Delivery = {
  outbox: OutboxLog;
  /** The number of the last event that an earlier process has left; anybody may have written those. */
  left: number;
  gateway: GatewayClient;
  incarnation: number;
  now: () => Date;
  log(line: string): void;
  signal: AbortSignal;
  /** Resolves when there may be events after none were left. */
  more(): Promise<void>;
  onAcked(): void;
};

/**
 * Carries events to the gateway until the signal: one request at a time, which keeps the order; what is reported
 * meanwhile makes the next batch. An event that gets no good answer is sent again.
 */
export async function deliver(delivery: Delivery): Promise<void> {
  const { outbox, gateway, log, signal } = delivery;
  const backOff = deliveryBackOff();
  let most: number = engineLimits.batchEvents;
  /** The number of an event the gateway refuses to take: another one, without meaning, goes in its place. */
  let given = 0;
  let refused = 0;

  while (!signal.aborted) {
    if (outbox.acked + 1 >= outbox.next) {
      await delivery.more();
      continue;
    }
    const first = outbox.acked + 1;
    const lines = outbox
      .unsent({ events: most, bytes: engineLimits.batchBytes - OVERHEAD_BYTES })
      .map((line, index) => (first + index > delivery.left || isWorthSending(line) ? line : null));
    if (first === given) lines[0] = null;
    const body = batchBody(delivery, { first, lines });
    const answer = await ask(gateway, { method: 'POST', path: '/engine/events', body, signal });
    const acked = answer && readAcked(answer);

    if (typeof acked === 'number' && acked !== outbox.acked) {
      outbox.settle(acked);
      delivery.onAcked();
      backOff.reset();
      most = Math.min(most * 2, engineLimits.batchEvents);
    } else if (!answer || !isRefusal(answer)) {
      await backOff.wait(signal);
    } else if (lines.length > 1) {
      most = Math.ceil(lines.length / 2);
    } else if (first !== given) {
      given = first;
      refused += 1;
      log(`event ${first} is dropped: the gateway answers it with ${answer.status}`);
    } else {
      await backOff.wait(signal);
    }
  }

  /** Of an event that was left: each one that the gateway has to refuse holds up all that come after it. */
  function isWorthSending(line: Buffer | null): boolean {
    return line !== null && refused < MAX_REFUSED && isJson(line);
  }
}

/** Asks which event the gateway has taken last, until it says so. */
export async function askAcked({
  gateway,
  signal,
}: Pick<Delivery, 'gateway' | 'signal'>): Promise<number | null> {
  const backOff = deliveryBackOff();
  while (!signal.aborted) {
    const answer = await ask(gateway, { method: 'GET', path: '/engine/state', signal });
    const acked = answer && readAcked(answer);
    if (typeof acked === 'number') return acked;
    await backOff.wait(signal);
  }
  return null;
}

function deliveryBackOff(): BackOff {
  return createBackOff({ leastMs: 50, mostMs: 2_000 });
}

/** The answer, or null when there is none in time. */
async function ask(
  gateway: GatewayClient,
  { signal, ...request }: { method: string; path: string; body?: Buffer; signal: AbortSignal },
): Promise<GatewayAnswer | null> {
  // One timer that goes with the request: those of AbortSignal.timeout would pile up behind a stream of deltas.
  const attempt = new AbortController();
  const abort = () => attempt.abort();
  const timer = setTimeout(abort, REQUEST_TIMEOUT_MS);
  signal.addEventListener('abort', abort, { once: true });
  try {
    const headers = { 'content-type': 'application/json' };
    return await gateway.request({ ...request, headers, signal: attempt.signal });
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

function readAcked({ status, body }: GatewayAnswer): number | null {
  if (status !== 200 && status !== 409) return null;
  try {
    const { acked } = JSON.parse(body.toString());
    return Number.isSafeInteger(acked) && acked >= 0 ? acked : null;
  } catch {
    return null;
  }
}

function isJson(line: Buffer): boolean {
  try {
    JSON.parse(line.toString());
    return true;
  } catch {
    return false;
  }
}

function isRefusal({ status }: GatewayAnswer): boolean {
  return status >= 400 && status < 500 && status !== 409 && !passing.has(status);
}

/** Lines become events by getting their numbers in front; they are not parsed. */
function batchBody(
  { incarnation, now }: Delivery,
  { first, lines }: { first: number; lines: readonly (Buffer | null)[] },
): Buffer {
  const parts: Buffer[] = [Buffer.from(`{"incarnation":${incarnation},"events":[`)];
  for (const [index, line] of lines.entries()) {
    parts.push(Buffer.from(`${index > 0 ? ',' : ''}{"seq":${first + index},`));
    // A type nobody knows is passed over by the gateway, which is what keeps the numbers without a hole.
    const isEvent = line !== null && line[0] === 0x7b;
    parts.push(
      isEvent
        ? line.subarray(1)
        : Buffer.from(`"at":"${now().toISOString()}","type":"engine.lost","payload":{}}`),
    );
  }
  parts.push(Buffer.from(']}'));
  return Buffer.concat(parts);
}
