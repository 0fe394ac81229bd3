import type { repositorySetOperations } from '../contract/repository-set.ts';
import type { Handlers } from '../http/handler.ts';
import { presentSummary } from './handlers.ts';
import type { RepositorySet, RepositorySetService } from './set-service.ts';

export function repositorySetHandlers(sets: RepositorySetService): Handlers<typeof repositorySetOperations> {
  return {
    async listRepositorySets({ db, caller }) {
      const all = await sets.list(db, caller);
      return { status: 200, body: { repository_sets: all.map(present) } };
    },
    async createRepositorySet({ db, caller, body }) {
      return { status: 201, body: { repository_set: present(await sets.create(db, caller, body)) } };
    },
    async getRepositorySet({ db, caller, params }) {
      return { status: 200, body: { repository_set: present(await sets.read(db, caller, params.id)) } };
    },
    async updateRepositorySet({ db, caller, params, body }) {
      const set = await sets.update(db, caller, { id: params.id, body });
      return { status: 200, body: { repository_set: present(set) } };
    },
    async deleteRepositorySet({ db, caller, params }) {
      await sets.remove(db, caller, params.id);
      return { status: 200, body: { success: true } };
    },
    async listReplicaRepositorySets({ db, caller }) {
      const all = await sets.list(db, caller);
      return { status: 200, body: { repository_sets: all.map(summarize) } };
    },
  };
}

function summarize(set: RepositorySet) {
  return {
    id: set.id,
    name: set.name,
    description: set.description,
    repositories: set.repositories.map(presentSummary),
  };
}

function present(set: RepositorySet) {
  return {
    ...summarize(set),
    created_at: set.created_at.toISOString(),
    updated_at: set.updated_at.toISOString(),
  };
}
