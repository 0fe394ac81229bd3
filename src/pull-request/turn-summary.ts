import type { Db } from '../db/database.ts';
import type { ReplicaService } from '../replica/service.ts';
import { takeUntold } from './store.ts';

export type TurnSummary = {
  repository_statuses: {
    repository: string;
    branch: string | null;
    default_branch: string | null;
    pr_urls: string[];
  }[];
  /** Of pull requests that no end of a turn has told before. */
  pr_urls: string[];
};

/**
 * What the end of a turn has to tell of repositories, in the transaction of that end: each pull request is told once. The
 * engine reports the state of repositories before it reports the end.
 */
export function createSummarizeTurn({ replicas }: { replicas: Pick<ReplicaService, 'repositoriesOf'> }) {
  return async function summarize(
    db: Db,
    { replicaId, messageId }: { replicaId: string; messageId: string },
  ): Promise<TurnSummary> {
    const repositories = await replicas.repositoriesOf(db, [replicaId]);
    const hasPulls = repositories.some(({ pr_urls }) => pr_urls.length > 0);
    return {
      repository_statuses: repositories.map(({ name, branch, default_branch, pr_urls }) => ({
        repository: name,
        branch,
        default_branch,
        pr_urls,
      })),
      pr_urls: hasPulls ? await takeUntold(db, { replicaId, messageId }) : [],
    };
  };
}
