import type { Logger } from 'pino';
import type { Db } from '../db/database.ts';
import { EngineUnreachableError } from './engine-client.ts';
import type { SandboxRow, SandboxService } from './service.ts';
import { firstAskMs, isGivenUp, type Silence, type SilenceTimes } from './silence.ts';

type Parts = {
  db: Db;
  sandboxes: Pick<SandboxService, 'ofHost' | 'inspect' | 'endSilent'>;
  times: SilenceTimes;
  log: Logger;
  monotonicMs: () => number;
};

type Engine = { incarnation: number; dueMs: number; silence: Silence | null };

/** Enough that a few that let everybody wait do not delay the others by much. */
const ASKED_AT_ONCE = 16;

/**
 * Asks the engines of this host now and then whether they are there. A process that hangs runs as far as the driver can
 * see, so one that keeps silent is ended: its sandbox has then stopped, which is found and mended like any other loss.
 * What is counted here is lost with this process, and counted anew by the next.
 */
export function createEngineWatch({ db, sandboxes, times, log, monotonicMs }: Parts) {
  const engines = new Map<string, Engine>();

  async function look(signal: AbortSignal): Promise<void> {
    const rows = (await sandboxes.ofHost(db)).filter((row) => row.started_at && !row.removing_at);
    note(rows);
    const nowMs = monotonicMs();
    const due = rows.filter((row) => (engines.get(row.id)?.dueMs ?? Number.POSITIVE_INFINITY) <= nowMs);
    const next = due.values();
    // They share the iterator, so that each row is taken once.
    await Promise.all(
      Array.from({ length: ASKED_AT_ONCE }, async () => {
        for (const row of next) await ask(row, signal);
      }),
    );
  }

  /** Takes up sandboxes that are new, or have been started anew, and forgets those that are gone. */
  function note(rows: readonly SandboxRow[]): void {
    const present = new Map(rows.map((row) => [row.id, row.incarnation]));
    for (const [id, { incarnation }] of engines) if (present.get(id) !== incarnation) engines.delete(id);
    const unknown = rows.filter((row) => !engines.has(row.id));
    const nowMs = monotonicMs();
    for (const [index, { id, incarnation }] of unknown.entries()) {
      const dueMs = firstAskMs(index, { count: unknown.length, nowMs, times });
      engines.set(id, { incarnation, dueMs, silence: null });
    }
  }

  async function ask(row: SandboxRow, signal: AbortSignal): Promise<void> {
    const engine = engines.get(row.id);
    if (!engine || signal.aborted) return;
    const beganMs = monotonicMs();
    const isThere = await answers(row, signal);
    if (signal.aborted) return;
    const nowMs = monotonicMs();
    if (isThere) {
      engine.silence = null;
      engine.dueMs = nowMs + times.everyMs;
      return;
    }
    const { failures = 0, sinceMs = beganMs } = engine.silence ?? {};
    engine.silence = { failures: failures + 1, sinceMs };
    engine.dueMs = nowMs + times.againMs;
    const silent = [...engines.values()].filter((other) => other.silence).length;
    const answering = engines.size - silent;
    if (isGivenUp(engine.silence, { nowMs, answering, silent, times })) await giveUp(row, engine.silence);
  }

  async function answers(row: SandboxRow, signal: AbortSignal): Promise<boolean> {
    try {
      await sandboxes.inspect(row, AbortSignal.any([signal, AbortSignal.timeout(times.answerMs)]));
      return true;
    } catch (error) {
      // Whatever else is wrong with it, it has answered.
      return !(error instanceof EngineUnreachableError);
    }
  }

  async function giveUp(row: SandboxRow, { failures, sinceMs }: Silence): Promise<void> {
    const silentMs = Math.round(monotonicMs() - sinceMs);
    log.warn({ sandboxId: row.id, replicaId: row.replica_id, failures, silentMs }, 'sandbox.engine_silent');
    try {
      await sandboxes.endSilent(db, row);
      // Until its next start is known, it is not given up once more.
      engines.delete(row.id);
    } catch (error) {
      log.warn({ sandboxId: row.id, err: error }, 'sandbox.end_failed');
    }
  }

  return { look };
}
