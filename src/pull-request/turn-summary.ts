import type { Db } from '../db/database.ts';
import type { ReplicaService } from '../replica/service.ts';
import { selectOpenedIn } from './store.ts';

export type TurnSummary = {
  repository_statuses: {
    repository: string;
    branch: string | null;
    default_branch: string | null;
    pr_urls: string[];
  }[];
  /** Of pull requests that were opened in the turn. */
  pr_urls: string[];
};

/** What the end of a turn has to tell of repositories. The engine reports their state before it reports the end. */
export function createSummarizeTurn({ replicas }: { replicas: Pick<ReplicaService, 'repositoriesOf'> }) {
  return async function summarize(
    db: Db,
    { replicaId, messageId }: { replicaId: string; messageId: string },
  ): Promise<TurnSummary> {
    const repositories = await replicas.repositoriesOf(db, [replicaId]);
    return {
      repository_statuses: repositories.map(({ name, branch, default_branch, pr_urls }) => ({
        repository: name,
        branch,
        default_branch,
        pr_urls,
      })),
      pr_urls: await selectOpenedIn(db, messageId),
    };
  };
}
