import type { ChatService } from '../chat/service.ts';
import type { Db } from '../db/database.ts';
import type { ReplicaRow, ReplicaService } from '../replica/service.ts';
import { selectPullRequestsOf } from './store.ts';

type Parts = {
  replicas: Pick<ReplicaService, 'request' | 'update'>;
  chats: Pick<ChatService, 'hasWork'>;
};

export type Closing = ReturnType<typeof createClosing>;

/** The end of replicas whose pull requests are all merged or closed. Whoever calls this holds the replica. */
export function createClosing({ replicas, chats }: Parts) {
  /** Archives the replica at once when it has nothing to do, else as soon as that is so. */
  return async function closeIfDone(db: Db, row: ReplicaRow): Promise<void> {
    if (keepsOpen(row)) return;
    const pulls = await selectPullRequestsOf(db, row.id);
    if (pulls.some(({ state }) => state === 'open')) return;
    const mustWait = row.state === 'preparing' || (await chats.hasWork(db, row.id));
    if (mustWait) await replicas.update(db, row, { closes_when_idle: true });
    else await replicas.request(db, row, 'archive');
  };
}

function keepsOpen({ config }: Pick<ReplicaRow, 'config'>): boolean {
  const { preferences } = (config ?? {}) as { preferences?: { keep_open_on_pr_merge?: unknown } };
  return preferences?.keep_open_on_pr_merge === true;
}
