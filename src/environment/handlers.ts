import type { environmentOperations } from '../contract/environment.ts';
import type { Handlers } from '../http/handler.ts';
import type { EnvironmentService } from './service.ts';
import type { EnvironmentCounts, EnvironmentRow } from './store.ts';

export function environmentHandlers(
  environments: EnvironmentService,
): Handlers<typeof environmentOperations> {
  return {
    async listEnvironments({ db, caller }) {
      const rows = await environments.list(db, caller);
      return { status: 200, body: { environments: rows.map(present) } };
    },
    async createEnvironment({ db, caller, body }) {
      return { status: 201, body: { environment: present(await environments.create(db, caller, body)) } };
    },
    async getEnvironment({ db, caller, params }) {
      return {
        status: 200,
        body: { environment: present(await environments.read(db, caller, params.environmentId)) },
      };
    },
    async updateEnvironment({ db, caller, params, body }) {
      const row = await environments.update(db, caller, { environmentId: params.environmentId, body });
      return { status: 200, body: { environment: present(row) } };
    },
    async deleteEnvironment({ db, caller, params }) {
      await environments.remove(db, caller, params.environmentId);
      return { status: 200, body: { success: true } };
    },
  };
}

function present(row: EnvironmentRow & EnvironmentCounts) {
  return {
    id: row.id,
    organization_id: row.organization_id,
    user_id: null,
    name: row.name,
    description: row.description,
    is_global: row.is_global,
    repository_id: row.repository_id,
    repository_set_id: row.repository_set_id,
    system_prompt: row.system_prompt,
    variable_count: row.variable_count,
    file_count: row.file_count,
    skill_count: row.skill_count,
    mcp_count: row.mcp_count,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
