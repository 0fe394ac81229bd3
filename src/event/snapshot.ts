import type { Db } from '../db/database.ts';
import { hasUnfinishedHooks } from '../hook-run/logs.ts';
import { publicStatus } from '../replica/lifecycle.ts';
import { presentRepositoryStatus } from '../replica/present.ts';
import type { ReplicaEvent, ReplicaRow, ReplicaService } from '../replica/service.ts';

/** A part of the present state, as the events that would tell it. */
export type SnapshotSource = (db: Db, row: ReplicaRow) => Promise<ReplicaEvent[]>;
export type TakeSnapshot = ReturnType<typeof createSnapshot>;

type Parts = {
  replicas: Pick<ReplicaService, 'repositoriesOf'>;
  chats: { overview(db: Db, replicaId: string): Promise<{ chats: object[] }> };
  /** What else is part of a replica's state. */
  sources: readonly SnapshotSource[];
};

/** The present state of a replica as events. What changes while it is taken may be in it or not. */
export function createSnapshot({ replicas, chats, sources }: Parts) {
  return async function takeSnapshot(db: Db, row: ReplicaRow): Promise<ReplicaEvent[]> {
    const [repositories, { chats: open }, hooks, others] = await Promise.all([
      replicas.repositoriesOf(db, [row.id]),
      chats.overview(db, row.id),
      hookStatus(db, row),
      Promise.all(sources.map((source) => source(db, row))),
    ]);
    const repos = repositories.map((each) => presentRepositoryStatus(each));
    return [
      { type: 'replica.status.changed', payload: { status: publicStatus[row.state] ?? 'deleted' } },
      { type: 'repo.status.changed', payload: { repos } },
      ...open.map((chat) => ({ type: 'chat.updated', payload: { chat } })),
      { type: 'hooks.status', payload: hooks },
      ...others.flat(),
    ];
  };
}

async function hookStatus(db: Db, row: ReplicaRow): Promise<{ running: boolean; completed: boolean }> {
  const isStarting = row.state === 'preparing' || row.state === 'waking';
  const isUnfinished = await hasUnfinishedHooks(db, row.id);
  return { running: isStarting && isUnfinished, completed: !isStarting && !isUnfinished };
}
