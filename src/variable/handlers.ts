import type { variableOperations } from '../contract/variable.ts';
import type { Handlers } from '../http/handler.ts';
import type { Variable, VariableService } from './service.ts';

export function variableHandlers(variables: VariableService): Handlers<typeof variableOperations> {
  return {
    async listVariables({ db, caller, params }) {
      const rows = await variables.list(db, caller, params.environmentId);
      return { status: 200, body: { environment_variables: rows.map(present) } };
    },
    async createVariable({ db, caller, params, body }) {
      const row = await variables.create(db, caller, { ...params, ...body });
      return { status: 201, body: { environment_variable: present(row) } };
    },
    async updateVariable({ db, caller, params, body }) {
      const row = await variables.update(db, caller, { ...params, ...body });
      return { status: 200, body: { environment_variable: present(row) } };
    },
    async deleteVariable({ db, caller, params }) {
      await variables.remove(db, caller, params);
      return { status: 200, body: { success: true } };
    },
  };
}

function present(row: Variable) {
  return {
    id: row.id,
    organization_id: row.organization_id,
    environment_id: row.environment_id,
    key: row.key,
    value: row.value,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
