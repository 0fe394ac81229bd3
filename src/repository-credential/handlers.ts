import type { repositoryCredentialOperations } from '../contract/repository-credential.ts';
import type { Handlers } from '../http/handler.ts';
import type { CredentialRow, RepositoryCredentialService } from './service.ts';

export function repositoryCredentialHandlers(
  credentials: RepositoryCredentialService,
): Handlers<typeof repositoryCredentialOperations> {
  return {
    async listRepositoryCredentials({ db, caller }) {
      const rows = await credentials.list(db, caller);
      return { status: 200, body: { credentials: rows.map(present) } };
    },
    async createRepositoryCredential({ db, caller, body }) {
      return { status: 201, body: { credential: present(await credentials.create(db, caller, body)) } };
    },
    async deleteRepositoryCredential({ db, caller, params }) {
      await credentials.remove(db, caller, params.id);
      return { status: 200, body: { success: true } };
    },
  };
}

function present(row: CredentialRow) {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind as 'token' | 'github_app',
    username: row.username,
    created_at: row.created_at.toISOString(),
  };
}
