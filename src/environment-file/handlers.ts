import type { environmentFileOperations } from '../contract/environment-file.ts';
import type { Handlers } from '../http/handler.ts';
import type { EnvironmentFile, EnvironmentFileService } from './service.ts';

export function environmentFileHandlers(
  files: EnvironmentFileService,
): Handlers<typeof environmentFileOperations> {
  return {
    async listEnvironmentFiles({ db, caller, params }) {
      const rows = await files.list(db, caller, params.environmentId);
      return { status: 200, body: { environment_files: rows.map(present) } };
    },
    async createEnvironmentFile({ db, caller, params, body }) {
      const row = await files.create(db, caller, { ...body, ...params });
      return { status: 201, body: { environment_file: present(row) } };
    },
    async getEnvironmentFile({ db, caller, params }) {
      return { status: 200, body: { environment_file: present(await files.read(db, caller, params)) } };
    },
    async updateEnvironmentFile({ db, caller, params, body }) {
      const row = await files.update(db, caller, { ...body, ...params });
      return { status: 200, body: { environment_file: present(row) } };
    },
    async deleteEnvironmentFile({ db, caller, params }) {
      await files.remove(db, caller, params);
      return { status: 200, body: { success: true } };
    },
  };
}

function present(row: EnvironmentFile) {
  return {
    id: row.id,
    organization_id: row.organization_id,
    environment_id: row.environment_id,
    name: row.name,
    path: row.path,
    content: row.content,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
