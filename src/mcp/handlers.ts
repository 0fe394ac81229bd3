import type { mcpOperations } from '../contract/mcp.ts';
import type { Handlers } from '../http/handler.ts';
import type { Mcp, McpService } from './service.ts';

export function mcpHandlers(mcps: McpService): Handlers<typeof mcpOperations> {
  return {
    async listMcps({ db, caller, params }) {
      const rows = await mcps.list(db, caller, params.environmentId);
      return { status: 200, body: { environment_mcps: rows.map(present) } };
    },
    async createMcp({ db, caller, params, body }) {
      const row = await mcps.create(db, caller, { ...body, ...params });
      return { status: 201, body: { environment_mcp: present(row) } };
    },
    async getMcp({ db, caller, params }) {
      return { status: 200, body: { environment_mcp: present(await mcps.read(db, caller, params)) } };
    },
    async updateMcp({ db, caller, params, body }) {
      const row = await mcps.update(db, caller, { ...body, ...params });
      return { status: 200, body: { environment_mcp: present(row) } };
    },
    async deleteMcp({ db, caller, params }) {
      await mcps.remove(db, caller, params);
      return { status: 200, body: { success: true } };
    },
  };
}

function present(row: Mcp) {
  return {
    id: row.id,
    organization_id: row.organization_id,
    environment_id: row.environment_id,
    name: row.name,
    transport: row.transport,
    config: row.config,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
