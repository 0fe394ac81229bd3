import type { Db } from '../db/database.ts';
import { presentRepositoryStatus } from '../replica/present.ts';
import type { ReplicaRow, ReplicaService } from '../replica/service.ts';
import { learn, type SaidPull } from './pull-state.ts';
import * as store from './store.ts';

type Parts = {
  replicas: Pick<ReplicaService, 'repositoriesOf' | 'emit' | 'update'>;
  newId: () => string;
  now: () => Date;
};
/** A pull request as somebody has seen it. */
export type Sighting = SaidPull & {
  repositoryId: string;
  number: number;
  url: string;
  /** Null when whoever has seen it does not know. */
  branch: string | null;
};
/** What is known of it now, and whether it has just come to its end. */
export type Noted = { pull: store.PullRequestRow; hasEnded: boolean };

/** More than a workspace is good for. */
const MAX_PULL_REQUESTS = 200;

export type Noting = ReturnType<typeof createNoting>;

/** Remembers the pull requests of replicas. Whoever calls this holds the replica. */
export function createNoting({ replicas, newId, now }: Parts) {
  /** Null for one that is not known and over already. */
  return async function note(db: Db, row: ReplicaRow, seen: Sighting): Promise<Noted | null> {
    const { repositoryId, number } = seen;
    const known = await store.selectPullRequest(db, { replicaId: row.id, repositoryId, number });
    if (known) return update(db, row, { known, seen });
    if (seen.state !== 'open') return null;
    if ((await store.selectPullRequestsOf(db, row.id)).length >= MAX_PULL_REQUESTS) return null;
    const pull = await store.insertPullRequest(db, {
      id: newId(),
      organization_id: row.organization_id,
      replica_id: row.id,
      repository_id: repositoryId,
      number,
      url: seen.url,
      branch: seen.branch,
      state: seen.state,
      head_commit: seen.headCommit,
      updated_at: seen.changedAt,
      created_at: now(),
    });
    await stayOpen(db, row);
    const repos = (await replicas.repositoriesOf(db, [row.id])).map((one) => presentRepositoryStatus(one));
    await replicas.emit(db, row.id, [{ type: 'repo.status.changed', payload: { repos } }]);
    return { pull, hasEnded: false };
  };

  async function update(
    db: Db,
    row: ReplicaRow,
    { known, seen }: { known: store.PullRequestRow; seen: Sighting },
  ): Promise<Noted> {
    const learned = learn(known, seen);
    if (learned === null) return { pull: known, hasEnded: false };
    const change = { ...learned, branch: known.branch ?? seen.branch };
    await store.updatePullRequest(db, known.id, change);
    if (known.state !== 'open' && learned.state === 'open') await stayOpen(db, row);
    return { pull: { ...known, ...change }, hasEnded: known.state === 'open' && learned.state !== 'open' };
  }

  /** There is a pull request to look after again. */
  async function stayOpen(db: Db, row: ReplicaRow): Promise<void> {
    if (row.closes_when_idle) await replicas.update(db, row, { closes_when_idle: false });
  }
}
