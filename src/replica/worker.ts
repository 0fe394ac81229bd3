import { z } from 'zod';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import { UserSentenceError } from '../lib/user-sentence.ts';
import { hostTask } from '../sandbox/host.ts';
import type { SandboxService } from '../sandbox/service.ts';
import type { Signals } from '../work/signal.ts';
import { defineTask, type TaskContext, type Tasks } from '../work/task.ts';
import { failureSentence } from './failure.ts';
import { type ReplicaWork, workOwed } from './lifecycle.ts';
import { type ReplicaRow, type ReplicaService, replicaTopic, WORK_TASK } from './service.ts';

type Parts = {
  db: Db;
  replicas: ReplicaService;
  sandboxes: SandboxService;
  start: (row: ReplicaRow, signal: AbortSignal) => Promise<void>;
  chats: { onSuspended(db: Db, row: ReplicaRow): Promise<void> };
  signals: Pick<Signals, 'subscribe'>;
  now: () => Date;
};

/** How often a start is tried. A replica that has a disk to lose is given more time than one that was never there. */
const MAX_ATTEMPTS = { preparing: 4, waking: 10 };
const FIRST_RETRY_MS = 500;
/** What is not on its way to a sandbox is tried for ever, at most this far apart. */
const SLOWEST_RETRY_MS = 30_000;
const CAPTURE_LIMIT_MS = 30_000;

class MovedOnError extends Error {
  override name = 'MovedOnError';
}

export function replicaTasks({ db, replicas, sandboxes, start, chats, signals, now }: Parts): Tasks {
  /** Does what the present state owes. Which that is may have changed since the job was added. */
  async function work(replicaId: string, context: TaskContext): Promise<void> {
    const row = await replicas.read(db, replicaId);
    if (!row || row.host_id !== sandboxes.hostId) return;
    const owed = workOwed[row.state];
    if (!owed) return;
    const began = performance.now();
    try {
      await whileOwed(row, context, (signal) => perform[owed](row, { ...context, signal }));
      context.log.info({ replicaId, work: owed, ms: Math.round(performance.now() - began) }, 'replica.work');
    } catch (error) {
      if (context.signal.aborted) throw error;
      context.log.warn(
        { replicaId, work: owed, attempt: row.attempts + 1, err: error },
        'replica.work_failed',
      );
      await retryOrFail(row, owed, error);
    }
  }

  /** Work that nobody wants any more, such as the start of a replica that is being deleted, ends at once. */
  async function whileOwed(
    row: ReplicaRow,
    context: TaskContext,
    act: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const moved = new AbortController();
    const look = async () => {
      const present = await replicas.read(db, row.id);
      if (present?.version !== row.version) moved.abort(new MovedOnError('The replica has moved on.'));
    };
    const unsubscribe = signals.subscribe(replicaTopic(row.id), () => {
      look().catch((error: unknown) =>
        context.log.warn({ replicaId: row.id, err: error }, 'replica.look_failed'),
      );
    });
    try {
      await act(AbortSignal.any([context.signal, moved.signal]));
    } catch (error) {
      if (!moved.signal.aborted) throw error;
    } finally {
      unsubscribe();
    }
  }

  const perform: Record<ReplicaWork, (row: ReplicaRow, context: TaskContext) => Promise<void>> = {
    start: (row, { signal }) => start(row, signal),

    async suspend(row, { signal, log }) {
      if (row.sandbox_id) {
        // What never became what it shall be says nothing worth keeping in place of what is kept.
        if (row.has_booted) {
          await capture(row.sandbox_id, signal).catch((error: unknown) =>
            log.warn({ replicaId: row.id, err: error }, 'replica.capture_failed'),
          );
        }
        await sandboxes.suspend(db, row.sandbox_id);
      }
      await reportOf(row, 'suspended');
    },

    async free(row) {
      if (row.sandbox_id) await sandboxes.remove(db, row.sandbox_id);
      await transact(db, async (tx) => {
        const held = await replicas.lock(tx, row.id);
        if (held?.version === row.version) await replicas.update(tx, held, { sandbox_id: null });
      });
    },

    async destroy(row) {
      if (row.sandbox_id) await sandboxes.remove(db, row.sandbox_id);
      await reportOf(row, 'destroyed');
    },
  };

  /** The engine's last word on repositories and canvas before it ends. */
  async function capture(sandboxId: string, signal: AbortSignal): Promise<void> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(CAPTURE_LIMIT_MS)]);
    await sandboxes.command(db, sandboxId, { method: 'POST', path: '/capture' }, limit);
  }

  async function reportOf(row: ReplicaRow, said: 'suspended' | 'destroyed'): Promise<void> {
    await transact(db, async (tx) => {
      const held = await replicas.lock(tx, row.id);
      if (held?.version !== row.version) return;
      const moved = await replicas.report(tx, held, said, said === 'destroyed' ? { sandbox_id: null } : {});
      if (moved && said === 'suspended') await chats.onSuspended(tx, moved);
    });
  }

  /** A start that keeps failing is given up; what frees resources is tried until it works. */
  async function retryOrFail(row: ReplicaRow, owed: ReplicaWork, error: unknown): Promise<void> {
    await transact(db, async (tx) => {
      const held = await replicas.lock(tx, row.id);
      if (held?.version !== row.version) return;
      const attempts = held.attempts + 1;
      // Trouble that comes with a sentence for the user is not over by itself.
      const isFinal = error instanceof UserSentenceError || attempts >= MAX_ATTEMPTS[held.state as 'waking'];
      if (owed === 'start' && isFinal) {
        await replicas.report(tx, held, 'failed', { error_message: failureSentence(error) });
        return;
      }
      const waitMs = Math.min(FIRST_RETRY_MS * 2 ** (attempts - 1), SLOWEST_RETRY_MS);
      await replicas.update(tx, held, { attempts, progress_at: now() });
      await replicas.owe(tx, held, new Date(now().getTime() + waitMs));
    });
  }

  return [
    defineTask({
      name: hostTask(WORK_TASK, sandboxes.hostId),
      payload: z.object({ replica_id: z.guid() }),
      run: ({ replica_id }, context) => work(replica_id, context),
    }),
  ];
}
