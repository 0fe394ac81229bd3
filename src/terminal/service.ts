import type { Caller } from '../account/caller.ts';
import { AppError, notFound } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import type { TerminalInfo } from '../engine/protocol.ts';
import { isActivityOld } from '../preview/activity.ts';
import { publicStatus, type ReplicaState } from '../replica/lifecycle.ts';
import type { ReplicaRow, ReplicaService } from '../replica/service.ts';
import type { EngineTerminals } from './engine-terminals.ts';
import { streamTerminal } from './stream.ts';

export type TerminalService = ReturnType<typeof createTerminalService>;

type Parts = {
  replicas: Pick<ReplicaService, 'find' | 'read' | 'noteActivity'>;
  engine: EngineTerminals;
  now: () => Date;
};
/** A replica that was found to be active, and for how long the engine may be waited for. */
type At = { db: Db; replica: ActiveReplica; signal: AbortSignal };
export type ActiveReplica = ReplicaRow & { sandbox_id: string };

/**
 * Terminals are live things of an active replica, so nothing of them is kept here. Each call of the engine may take its
 * time: none may be made while a transaction is open.
 */
export function createTerminalService({ replicas, engine, now }: Parts) {
  async function findActive(db: Db, caller: Caller, id: string): Promise<ActiveReplica> {
    return requireActive(await replicas.find(db, caller, id));
  }

  const placeOf = ({ db, replica, signal }: At) => ({ db, sandboxId: replica.sandbox_id, signal });

  /** Who types uses the replica. */
  async function noteUse({ db, replica }: At): Promise<void> {
    if (isActivityOld(replica, now())) await replicas.noteActivity(db, replica);
  }

  return {
    findActive,
    list: (at: At): Promise<TerminalInfo[]> => engine.list(placeOf(at)),

    async create(at: At, request: Parameters<EngineTerminals['create']>[1]): Promise<TerminalInfo> {
      const made = await engine.create(placeOf(at), request);
      await noteUse(at);
      return made;
    },

    async input(at: At, terminalId: string, data: Buffer): Promise<void> {
      await engine.input(placeOf(at), terminalId, data);
      await noteUse(at);
    },

    resize: (at: At, terminalId: string, size: { cols: number; rows: number }): Promise<void> =>
      engine.resize(placeOf(at), terminalId, size),

    async remove(at: At, terminalId: string): Promise<void> {
      if (!(await engine.remove(placeOf(at), terminalId))) throw notFound('Terminal');
    },

    /** Ends with a refusal when the replica falls asleep. */
    stream(
      { db, replica, signal }: At,
      wanted: { terminalId: string; offset: number; encoding: 'utf8' | 'base64' },
    ) {
      const sandboxOf = async (pool: Db) => {
        const row = await replicas.read(pool, replica.id);
        if (!row) throw notFound('Replica');
        return requireActive(row).sandbox_id;
      };
      return streamTerminal(db, { engine, sandboxOf }, { ...wanted, signal });
    },
  };
}

function requireActive(row: ReplicaRow): ActiveReplica {
  if (row.state === 'active' && row.sandbox_id) return { ...row, sandbox_id: row.sandbox_id };
  const status = publicStatus[row.state] ?? 'deleted';
  const sentence = `Terminals are of active replicas, and this one is ${status}; ${remedyOf(row.state)}.`;
  throw new AppError('invalid_state', sentence);
}

function remedyOf(state: ReplicaState): string {
  if (state === 'failed') return 'delete it and create another one';
  return state === 'preparing' || state === 'waking' ? 'wait until it is active' : 'wake it first';
}
