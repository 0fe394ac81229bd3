import type { Db } from '../db/database.ts';
import type { GitEvent, TakenEvent } from '../git-event/event.ts';
import { replicaStates } from '../replica/lifecycle.ts';
import type { ReplicaRow, ReplicaService } from '../replica/service.ts';
import { hasBranch } from './branch-store.ts';
import { changedAt } from './changed-at.ts';
import type { Closing } from './closing.ts';
import { isOver } from './is-over.ts';
import type { Noting } from './noting.ts';
import type { Remarks } from './remarks.ts';
import { type PullRequestRow, selectConcerned, selectPullRequest, selectPullRequestsOf } from './store.ts';

type Parts = { replicas: Pick<ReplicaService, 'lock'>; note: Noting; keep: Remarks; closeIfDone: Closing };

/** One branch is pushed by a handful of workspaces at most. */
const MAX_CONCERNED = 50;
const living = replicaStates.filter((state) => !isOver({ state }));

/** What git hosts tell, as far as it is about pull requests of replicas. */
export function createPullRequestEvents({ replicas, note, keep, closeIfDone }: Parts) {
  /** Takes an event in the transaction that has taken it. Replicas are held in the order of their ids. */
  return async function onGitEvent(db: Db, { repositoryId, event, payload }: TakenEvent): Promise<void> {
    const { pullRequest } = event;
    if (!pullRequest && !event.remark) return;
    const replicaIds = await selectConcerned(db, {
      repositoryId,
      numbers: numbersOf(event),
      commit: event.commit,
      branch: pullRequest ? pullRequest.headBranch : event.branch,
      states: living,
      limit: MAX_CONCERNED,
    });
    for (const id of replicaIds) {
      const row = await replicas.lock(db, id);
      if (row && !isOver(row)) await apply(db, row, { repositoryId, event, at: changedAt(payload) });
    }
  };

  async function apply(
    db: Db,
    row: ReplicaRow,
    { repositoryId, event, at }: { repositoryId: string; event: GitEvent; at: Date | null },
  ): Promise<void> {
    const { pullRequest, remark, commit } = event;
    if (pullRequest && (await isOurs(db, row, { repositoryId, event }))) {
      const { headBranch: branch, ...said } = pullRequest;
      const noted = await note(db, row, { ...said, repositoryId, branch, changedAt: at });
      if (noted?.hasEnded) await closeIfDone(db, row);
    }
    if (!remark) return;
    for (const pull of await selectPullRequestsOf(db, row.id))
      if (pull.repository_id === repositoryId && isAbout(event, pull))
        await keep(db, row, { pull, remark, commit });
  }

  /** Whether it is one that is tracked, or comes from a branch that the replica has pushed. */
  async function isOurs(
    db: Db,
    { id: replicaId }: ReplicaRow,
    { repositoryId, event }: { repositoryId: string; event: GitEvent },
  ): Promise<boolean> {
    const { number = 0, headBranch: branch = null } = event.pullRequest ?? {};
    if (await selectPullRequest(db, { replicaId, repositoryId, number })) return true;
    return branch !== null && hasBranch(db, { replicaId, repositoryId, branch });
  }
}

function numbersOf({ pullRequest, numbers }: GitEvent): number[] {
  return pullRequest ? [...numbers, pullRequest.number] : [...numbers];
}

/** A check names its pull requests, or only the commit it ran on. */
function isAbout(event: GitEvent, pull: PullRequestRow): boolean {
  if (numbersOf(event).includes(pull.number)) return true;
  if (event.remark?.kind !== 'check') return false;
  const isOnCommit = event.commit !== null && event.commit === pull.head_commit;
  return isOnCommit || (event.branch !== null && event.branch === pull.branch);
}
