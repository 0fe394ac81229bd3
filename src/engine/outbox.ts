import path from 'node:path';
import type { EngineContext, GatewayClient } from './context.ts';
import { engineLimits } from './limits.ts';
import { listFolder } from './list-folder.ts';
import { makeOwnFolder } from './make-own-folder.ts';
import { orAbort } from './or-abort.ts';
import { askAcked, deliver } from './outbox-delivery.ts';
import { type OutboxLog, openOutboxLog } from './outbox-log.ts';
import type { EngineEventType, EngineReport } from './protocol.ts';
import { discard } from './set-aside.ts';
import { createSyncLater } from './sync-later.ts';

/** What its number adds to an event. */
const NUMBER_BYTES = 32;
const SYNC_AFTER_MS = 200;
const PATIENCE_MS = 150;
/** Reports that may wait for the gateway's first word before those that can be done without are dropped. */
const MAX_WAITING = 1_000;
/** More folders of events than sandboxes that a disk was ever a snapshot of. */
const MAX_FOLDERS = 1_000;
/**
 * Nobody waits for these: they go along with what comes next, such as the first words of an answer. Taking a batch costs
 * the service much the same whatever is in it, and at the start of a turn it has better things to do.
 */
const patient = new Set<EngineEventType>(['boot.step', 'turn.started', 'turn.message']);
/** Pieces of something whose end is reported in any case. */
const dispensable = new Set<EngineEventType>(['hook.output', 'turn.delta']);

export type Outbox = Pick<EngineContext, 'report' | 'flush'> & { close(): Promise<void> };

/**
 * Keeps every report until the gateway has taken it.
 *
 * A report is acknowledged once it is written to a file, so a kill of this process loses nothing. It is sent at once,
 * before it is synced: were the machine to lose power in between, the gateway would have it and say so at the next
 * start. So the disk is only synced for events that have waited for the gateway for a while, several at a time, and
 * never for deltas.
 */
export function createOutbox(options: {
  /** Belongs to the outbox. */
  folder: string;
  /** A disk that started as another sandbox's snapshot may hold the events of that one. */
  sandboxId: string;
  gateway: GatewayClient;
  incarnation: number;
  now: () => Date;
  log(line: string): void;
  /** Told what cannot be sent of what an earlier process has left. */
  warn(sentence: string): void;
}): Outbox {
  const { gateway, incarnation, now, log, warn } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const waiters = new Set<() => void>();
  let wake = () => {};
  let waiting = 0;
  let dropped = 0;
  let wakeTimer: NodeJS.Timeout | null = null;
  const syncing = createSyncLater({
    afterMs: SYNC_AFTER_MS,
    onError: (error) => log(`events are not synced: ${String(error)}`),
  });
  const opened = open();
  const ended = opened.then(run);

  return {
    async report(report) {
      const at = now().toISOString();
      const canDrop = dispensable.has(report.type);
      if (canDrop && waiting > MAX_WAITING) return drop();
      waiting += 1;
      const outbox = await opened;
      waiting -= 1;
      if (!outbox || signal.aborted) throw new Error('the engine is ending');
      if (canDrop && outbox.isPressed) return drop();
      tellDropped();
      outbox.append(eventLine(at, report));
      if (patient.has(report.type)) wakeSoon();
      else wakeNow();
      if (report.type !== 'turn.delta') syncing.note(outbox);
    },

    async flush(abort) {
      const outbox = await orAbort(opened, abort);
      wakeNow();
      const target = outbox ? outbox.next - 1 : 0;
      while (outbox && outbox.acked < Math.min(target, outbox.next - 1)) {
        if (signal.aborted) throw new Error('the engine is ending');
        await orAbort(new Promise<void>((resolve) => waiters.add(resolve)), abort);
      }
    },

    async close() {
      closing.abort();
      wake();
      release();
      syncing.close();
      if (wakeTimer) clearTimeout(wakeTimer);
      await ended;
    },
  };

  async function open(): Promise<OutboxLog | null> {
    const acked = await askAcked({ gateway, signal });
    return acked === null ? null : openOutboxLog({ folder: takeFolder(options), acked, warn });
  }

  async function run(outbox: OutboxLog | null): Promise<void> {
    if (!outbox) return;
    const left = outbox.next - 1;
    await deliver({ outbox, left, gateway, incarnation, now, log, signal, more, onAcked: release });
    outbox.close();
  }

  function more(): Promise<void> {
    return new Promise((resolve) => {
      wake = resolve;
    });
  }

  function wakeNow(): void {
    if (wakeTimer) clearTimeout(wakeTimer);
    wakeTimer = null;
    wake();
  }

  function wakeSoon(): void {
    wakeTimer ??= setTimeout(wakeNow, PATIENCE_MS);
  }

  function release(): void {
    for (const resolve of waiters) resolve();
    waiters.clear();
  }

  function drop(): void {
    if (dropped === 0) log('too many events wait for the gateway: output and deltas are dropped');
    dropped += 1;
  }

  function tellDropped(): void {
    if (dropped > 0) log(`${dropped} pieces of output or deltas were dropped`);
    dropped = 0;
  }
}

function eventLine(at: string, { type, payload }: EngineReport): Buffer {
  const line = Buffer.from(`${JSON.stringify({ at, type, payload })}\n`);
  if (line.length + NUMBER_BYTES <= engineLimits.eventBytes) return line;
  throw new Error(`a report of type ${type} is larger than ${engineLimits.eventBytes} bytes`);
}

/** The folder of this sandbox's events, without those of others. */
function takeFolder({ folder, sandboxId }: { folder: string; sandboxId: string }): string {
  const own = sandboxId.replace(/[^A-Za-z0-9-]/g, '_');
  try {
    makeOwnFolder(folder);
    for (const { name } of listFolder(folder, MAX_FOLDERS) ?? []) {
      if (name !== own) discard(path.join(folder, name), { beside: folder });
    }
  } catch {
    // Nothing can be written here; the log copes with that.
  }
  return path.join(folder, own);
}
