import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { GitHostService } from '../git-host/service.ts';
import { presentRepositoryStatus } from '../replica/present.ts';
import type { ReplicaService } from '../replica/service.ts';
import type { RepositoryService } from '../repository/service.ts';
import { insertPullRequest } from './store.ts';

type Parts = {
  db: Db;
  hosts: Pick<GitHostService, 'of'>;
  replicas: Pick<ReplicaService, 'repositoriesOf' | 'lock' | 'emit'>;
  repositories: Pick<RepositoryService, 'remoteById'>;
  /** The turn that runs in a chat, to which what is opened belongs. */
  turnOf(
    db: Db,
    key: { replicaId: string; chatId: string },
  ): Promise<{ messageId: string | null } | undefined>;
  newId: () => string;
  now: () => Date;
};
type Workspace = { organizationId: string; replicaId: string; chatId: string };
type Draft = {
  repository: string | null;
  title: string;
  body: string;
  branch: string | null;
  base: string | null;
  isDraft: boolean;
};

/** What was asked for cannot be done; the message is a sentence for whoever asked. */
export class PullRequestError extends Error {
  override name = 'PullRequestError';
}

export type PullRequestService = ReturnType<typeof createPullRequestService>;

/** Pull requests that come from replicas: opened with the organization's token, which no sandbox sees. */
export function createPullRequestService(parts: Parts) {
  const { db, hosts, replicas, repositories, newId, now } = parts;

  async function repositoryOf({ organizationId, replicaId }: Workspace, name: string | null) {
    const all = await replicas.repositoriesOf(db, [replicaId]);
    const found = name === null && all.length === 1 ? all[0] : all.find((one) => one.name === name);
    if (!found) {
      const names = all.map((one) => one.name).join(', ');
      throw new PullRequestError(
        names === ''
          ? 'This workspace has no repository.'
          : `Name one of the repositories of this workspace: ${names}.`,
      );
    }
    const remote = await repositories.remoteById(db, { organizationId, id: found.repository_id });
    if (!remote) throw new PullRequestError(`The repository ${found.name} is not connected any more.`);
    return { found, host: await hosts.of(db, organizationId, remote) };
  }

  return {
    async open(
      workspace: Workspace,
      draft: Draft,
      signal: AbortSignal,
    ): Promise<{ number: number; url: string }> {
      const { found, host } = await repositoryOf(workspace, draft.repository);
      const head = draft.branch ?? found.branch;
      const base = draft.base ?? found.default_branch;
      if (!head || !base || head === base)
        throw new PullRequestError(
          'A pull request leads from one branch to another: make a branch, commit and push it, then name it.',
        );
      const { title, body, isDraft } = draft;
      const { number, url } = await host.openPullRequest({ title, body, head, base, isDraft }, signal);
      await note(workspace, { repositoryId: found.repository_id, number, url, branch: head });
      return { number, url };
    },

    async comment(
      workspace: Workspace,
      { repository, number, body }: { repository: string | null; number: number; body: string },
      signal: AbortSignal,
    ): Promise<{ url: string }> {
      const { host } = await repositoryOf(workspace, repository);
      return host.comment({ number, body }, signal);
    },
  };

  /** Remembers a pull request once, and tells those who watch. */
  async function note(
    { organizationId, replicaId, chatId }: Workspace,
    pull: { repositoryId: string; number: number; url: string; branch: string },
  ): Promise<void> {
    await transact(db, async (tx) => {
      const row = await replicas.lock(tx, replicaId);
      if (!row) return;
      const turn = await parts.turnOf(tx, { replicaId, chatId });
      const isNew = await insertPullRequest(tx, {
        id: newId(),
        organization_id: organizationId,
        replica_id: replicaId,
        repository_id: pull.repositoryId,
        number: pull.number,
        url: pull.url,
        branch: pull.branch,
        message_id: turn?.messageId ?? null,
        created_at: now(),
      });
      if (!isNew) return;
      const repos = (await replicas.repositoriesOf(tx, [replicaId])).map((one) =>
        presentRepositoryStatus(one),
      );
      await replicas.emit(tx, replicaId, [{ type: 'repo.status.changed', payload: { repos } }]);
    });
  }
}
