import { z } from 'zod';
import type { Db } from '../db/database.ts';
import type { EngineInfo, TurnRequest } from '../engine/protocol.ts';
import { isStorableText } from '../lib/text.ts';
import type { ReplicaRow } from '../replica/service.ts';
import { type EngineCommand, EngineUnreachableError } from '../sandbox/engine-client.ts';
import type { SandboxRow, SandboxService } from '../sandbox/service.ts';
import type { TaskContext } from '../work/task.ts';

type Parts = { db: Db; sandboxes: Pick<SandboxService, 'send' | 'find' | 'inspect'> };
export type Asking = Pick<TaskContext, 'signal' | 'log'>;
/** A replica whose engine can be spoken to. */
export type Addressee = ReplicaRow & { sandbox_id: string };

export type EngineTurns = ReturnType<typeof createEngineTurns>;

const ANSWER_LIMIT_MS = 10_000;
/** Sandboxes that are known at once; one beyond that is looked up again. */
const MAX_KNOWN = 1_000;
const interruption = z.object({ interrupted: z.literal(true) });
const refusal = z.object({ error: z.string().max(1_000).refine(isStorableText) });

export function isAddressee(row: ReplicaRow | undefined): row is Addressee {
  return row?.state === 'active' && row.sandbox_id !== null;
}

/** Speaks with engines about turns. Null is the answer of one that cannot be reached. */
export function createEngineTurns({ db, sandboxes }: Parts) {
  /** Whatever it takes to speak to a sandbox stays the same for as long as there is one, and a message need not wait for it. */
  const known = new Map<string, SandboxRow>();

  async function find(id: string): Promise<SandboxRow> {
    const row = known.get(id) ?? (await sandboxes.find(db, id));
    if (!row) throw new EngineUnreachableError('The sandbox is gone.');
    known.set(id, row);
    const [oldest = ''] = known.keys();
    if (known.size > MAX_KNOWN) known.delete(oldest);
    return row;
  }

  async function reach<T>(
    { id: replicaId, sandbox_id: sandboxId }: Addressee,
    { signal, log }: Asking,
    ask: (limit: AbortSignal) => Promise<T>,
  ): Promise<T | null> {
    try {
      return await ask(AbortSignal.any([signal, AbortSignal.timeout(ANSWER_LIMIT_MS)]));
    } catch (error) {
      known.delete(sandboxId);
      signal.throwIfAborted();
      if (!(error instanceof EngineUnreachableError)) throw error;
      // One that was let go meanwhile breaks off because of that, and nobody waits for its answer.
      const sandbox = await sandboxes.find(db, sandboxId);
      if (sandbox && !sandbox.removing_at) log.warn({ replicaId, err: error }, 'chat.engine_unreachable');
      return null;
    }
  }

  const tell = (to: Addressee, asking: Asking, command: EngineCommand) =>
    reach(to, asking, async (limit) => sandboxes.send(await find(to.sandbox_id), command, limit));
  const post = (to: Addressee, asking: Asking, command: { path: string; body?: unknown }) =>
    tell(to, asking, { method: 'POST', ...command });

  /** How the engine answers to a turn, with what it says when it does not take it. */
  async function send(
    to: Addressee,
    body: TurnRequest,
    asking: Asking,
  ): Promise<{ status: number; reason: string | null } | null> {
    const answer = await post(to, asking, { path: '/turns', body });
    return answer && { status: answer.status, reason: refusal.safeParse(answer.body).data?.error ?? null };
  }

  /** Whether there was anything to interrupt. */
  async function interrupt(to: Addressee, id: string, asking: Asking): Promise<boolean | null> {
    const answer = await post(to, asking, { path: `/turns/${id}/interrupt` });
    return answer?.status === 200 ? interruption.safeParse(answer.body).success : null;
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

  /** What the engine does not do now nobody asks for again: it costs some room on the disk. */
  async function forgetChat(to: Addressee, chatId: string, asking: Asking): Promise<void> {
    await tell(to, asking, { method: 'DELETE', path: `/chats/${chatId}` });
  }

  return { send, interrupt, inspect, flush, forgetChat };
}
