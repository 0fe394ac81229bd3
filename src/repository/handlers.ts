import type { repositoryOperations } from '../contract/repository.ts';
import type { Handlers } from '../http/handler.ts';
import type { RepositoryRow, RepositoryService } from './service.ts';

const CHECK_WAIT_MS = 10_000;

export function repositoryHandlers(repositories: RepositoryService): Handlers<typeof repositoryOperations> {
  return {
    async listRepositories({ db, caller }) {
      const rows = await repositories.list(db, caller);
      return { status: 200, body: { repositories: rows.map(present) } };
    },
    async createRepository({ db, caller, body }) {
      return { status: 201, body: { repository: present(await repositories.create(db, caller, body)) } };
    },
    async getRepository({ db, caller, params }) {
      return { status: 200, body: { repository: present(await repositories.read(db, caller, params.id)) } };
    },
    async updateRepository({ db, caller, params, body }) {
      const row = await repositories.update(db, caller, { id: params.id, body });
      return { status: 200, body: { repository: present(row) } };
    },
    async deleteRepository({ db, caller, params }) {
      await repositories.remove(db, caller, params.id);
      return { status: 200, body: { success: true } };
    },
    async checkRepository({ db, caller, params }) {
      const asked = await repositories.askForCheck(db, caller, params.id);
      return {
        status: 200,
        body: { repository: present(asked) },
        settle: async (pool, signal) => {
          await repositories.checks.settled(pool, [asked], { timeoutMs: CHECK_WAIT_MS, signal });
          return { repository: present(await repositories.read(pool, caller, params.id)) };
        },
      };
    },
    async listReplicaRepositories({ db, caller }) {
      const rows = await repositories.list(db, caller);
      return { status: 200, body: { repositories: rows.map(presentSummary) } };
    },
  };
}

export function presentSummary(row: Pick<RepositoryRow, 'id' | 'name' | 'url' | 'default_branch'>) {
  return { id: row.id, name: row.name, url: row.url, default_branch: row.default_branch };
}

function present(row: RepositoryRow) {
  return {
    ...presentSummary(row),
    credential_id: row.credential_id,
    status: row.status as 'checking' | 'ready' | 'error',
    error: row.error,
    head_commit: row.head_commit,
    checked_at: row.checked_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
