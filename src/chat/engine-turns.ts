import { z } from 'zod';
import type { Db } from '../db/database.ts';
import type { EngineInfo, TurnRequest } from '../engine/protocol.ts';
import type { ReplicaRow } from '../replica/service.ts';
import { EngineUnreachableError } from '../sandbox/engine-client.ts';
import type { SandboxService } from '../sandbox/service.ts';
import type { TaskContext } from '../work/task.ts';

type Parts = { db: Db; sandboxes: Pick<SandboxService, 'command' | 'find' | 'inspect'> };
type Asking = Pick<TaskContext, 'signal' | 'log'>;
/** A replica whose engine can be spoken to. */
export type Addressee = ReplicaRow & { sandbox_id: string };

export type EngineTurns = ReturnType<typeof createEngineTurns>;

const ANSWER_LIMIT_MS = 10_000;
const interruption = z.object({ interrupted: z.literal(true) });

export function isAddressee(row: ReplicaRow | undefined): row is Addressee {
  return row?.state === 'active' && row.sandbox_id !== null;
}

/** Speaks with engines about turns. Null is the answer of one that cannot be reached. */
export function createEngineTurns({ db, sandboxes }: Parts) {
  async function reach<T>(
    { id }: Addressee,
    { signal, log }: Asking,
    ask: (limit: AbortSignal) => Promise<T>,
  ): Promise<T | null> {
    try {
      return await ask(AbortSignal.any([signal, AbortSignal.timeout(ANSWER_LIMIT_MS)]));
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof EngineUnreachableError)) throw error;
      log.warn({ replicaId: id, err: error }, 'chat.engine_unreachable');
      return null;
    }
  }

  const post = (to: Addressee, asking: Asking, command: { path: string; body?: unknown }) =>
    reach(to, asking, (limit) => sandboxes.command(db, to.sandbox_id, { method: 'POST', ...command }, limit));

  /** The status with which the engine answers to a turn. */
  async function send(to: Addressee, body: TurnRequest, asking: Asking): Promise<number | null> {
    const answer = await post(to, asking, { path: '/turns', body });
    return answer?.status ?? null;
  }

  /** Whether there was anything to interrupt. */
  async function interrupt(to: Addressee, id: string, asking: Asking): Promise<boolean | null> {
    const answer = await post(to, asking, { path: `/turns/${id}/interrupt` });
    return answer && interruption.safeParse(answer.body).success;
  }

  /** What the engine of the present incarnation says of itself. */
  async function inspect(to: Addressee, asking: Asking): Promise<EngineInfo | null> {
    const sandbox = await sandboxes.find(db, to.sandbox_id);
    const info = sandbox && (await reach(to, asking, (limit) => sandboxes.inspect(sandbox, limit)));
    return info && info.incarnation === sandbox?.incarnation ? info : null;
  }

  /** Whether everything that the engine has said so far was taken. */
  async function flush(to: Addressee, asking: Asking): Promise<boolean> {
    const answer = await post(to, asking, { path: '/flush' });
    return answer?.status === 200;
  }

  return { send, interrupt, inspect, flush };
}
