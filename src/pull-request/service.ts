import type { ChatService } from '../chat/service.ts';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { GitHostService } from '../git-host/service.ts';
import type { ReplicaService } from '../replica/service.ts';
import type { RepositoryService } from '../repository/service.ts';
import { createClosing } from './closing.ts';
import { createPullRequestEvents } from './events.ts';
import { createFollowUps } from './follow-up.ts';
import { createNoting } from './noting.ts';
import { createOnHost } from './on-host.ts';
import { createOwnComments } from './own-comments.ts';
import { createRemarks } from './remarks.ts';
import { createTracking } from './tracking.ts';

type Parts = {
  db: Db;
  hosts: Pick<GitHostService, 'of' | 'apiUrls'>;
  replicas: Pick<ReplicaService, 'repositoriesOf' | 'lock' | 'read' | 'emit' | 'update' | 'request'>;
  repositories: Pick<RepositoryService, 'remoteById'>;
  chats: Pick<ChatService, 'send' | 'amendQueued' | 'hasWork'>;
  /** How long remarks are gathered before they are told. */
  followUpDelayMs: number;
  newId: () => string;
  now: () => Date;
};
type Workspace = { organizationId: string; replicaId: string };
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

/** Pull requests that come from replicas: opened with the organization's token, which no sandbox sees, or found. */
export function createPullRequestService(parts: Parts) {
  const { db, replicas, repositories } = parts;
  const ownComments = createOwnComments(parts);
  const onHost = createOnHost(parts);
  const note = createNoting(parts);
  const onGitEvent = createPullRequestEvents({
    replicas,
    note,
    keep: createRemarks(parts),
    closeIfDone: createClosing(parts),
  });

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
    return { found, place: { organizationId, remote } };
  }

  return {
    async open(
      workspace: Workspace,
      draft: Draft,
      signal: AbortSignal,
    ): Promise<{ number: number; url: string }> {
      const { found, place } = await repositoryOf(workspace, draft.repository);
      const head = draft.branch ?? found.branch;
      const base = draft.base ?? found.default_branch;
      if (!head || !base || head === base)
        throw new PullRequestError(
          'A pull request leads from one branch to another: make a branch, commit and push it, then name it.',
        );
      const { title, body, isDraft } = draft;
      const wanted = { title, body, head, base, isDraft };
      const opened = await onHost(place, (host) => host.openPullRequest(wanted, signal));
      const seen = { ...opened, repositoryId: found.repository_id, branch: head, state: 'open' } as const;
      await transact(db, async (tx) => {
        const row = await replicas.lock(tx, workspace.replicaId);
        if (row) await note(tx, row, seen);
      });
      return { number: opened.number, url: opened.url };
    },

    async comment(
      workspace: Workspace,
      { repository, number, body }: { repository: string | null; number: number; body: string },
      signal: AbortSignal,
    ): Promise<{ url: string }> {
      const { found, place } = await repositoryOf(workspace, repository);
      const making = { ...workspace, repositoryId: found.repository_id, text: body };
      return ownComments.make(db, making, () =>
        onHost(place, (host) => host.comment({ number, body }, signal)),
      );
    },

    isOwnComment: ownComments.isOwn,

    onGitEvent,
    tracking: createTracking({ ...parts, note }),
    followUps: createFollowUps(parts),
  };
}
