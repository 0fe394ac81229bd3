import type { warmWorkspaceOperations } from '../contract/warm-pool.ts';
import type { Handlers } from '../http/handler.ts';
import type { FollowWorkspace, WorkspaceNews } from './follow.ts';
import { presentWorkspace } from './present-workspace.ts';
import { findWorkspace, readWorkspaces } from './read-workspaces.ts';

type Parts = { follow: FollowWorkspace };

export function warmWorkspaceHandlers({ follow }: Parts): Handlers<typeof warmWorkspaceOperations> {
  return {
    async listWarmPoolWorkspaces({ db, caller, params }) {
      const rows = await readWorkspaces(db, caller, params.configId);
      return { status: 200, body: { workspaces: rows.map(presentWorkspace) } };
    },

    async streamWarmPoolWorkspace({ db, caller, params }) {
      const { id } = await findWorkspace(db, caller, params.workspaceId);
      return { status: 200, stream: (pool, signal) => frames(follow(pool, id, signal)) };
    },
  };
}

async function* frames(news: AsyncIterable<WorkspaceNews>) {
  for await (const one of news) yield toFrame(one);
}

function toFrame(news: WorkspaceNews) {
  if (news.kind === 'output') return { event: 'output', data: { output: news.text } };
  if (news.kind === 'status') return { event: 'status', data: { status: news.status } };
  const { status, message } = news;
  return { event: status === 'failed' ? 'error' : 'complete', data: { status, message } };
}
