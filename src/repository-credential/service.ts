import type { z } from 'zod';
import type { Caller } from '../account/caller.ts';
import { AppError, notFound } from '../contract/error.ts';
import type { repositoryCredentialOperations } from '../contract/repository-credential.ts';
import type { Db } from '../db/database.ts';
import { refusing } from '../db/violation.ts';
import type { GitCredential } from '../git/environment.ts';
import type { Sealer } from '../secret/seal.ts';
import { sealedContext } from '../secret/sealed-columns.ts';
import * as store from './store.ts';

type CreateBody = z.output<(typeof repositoryCredentialOperations.createRepositoryCredential)['body']>;
type Parts = { sealer: Sealer; newId: () => string; now: () => Date };

export type { CredentialRow } from './store.ts';
export type RepositoryCredentialService = ReturnType<typeof createRepositoryCredentialService>;

const MAX_CREDENTIALS = 500;

export function createRepositoryCredentialService({ sealer, newId, now }: Parts) {
  function list(db: Db, caller: Caller): Promise<store.CredentialRow[]> {
    return store.selectCredentials(db, caller.organizationId);
  }

  async function create(db: Db, caller: Caller, body: CreateBody): Promise<store.CredentialRow> {
    if ((await store.countCredentials(db, caller.organizationId)) >= MAX_CREDENTIALS) {
      throw new AppError(
        'limit_reached',
        `An organization has at most ${MAX_CREDENTIALS} credentials; delete one first.`,
      );
    }
    const id = newId();
    const row = {
      id,
      organization_id: caller.organizationId,
      name: body.name,
      username: body.username,
      secret: sealer.seal(body.token, context(id)),
      created_at: now(),
    };
    return refusing(nameTaken(body.name), () => store.insertCredential(db, row));
  }

  async function remove(db: Db, caller: Caller, id: string): Promise<void> {
    const row = await store.lockCredential(db, { organizationId: caller.organizationId, id });
    if (!row) throw notFound('Credential');
    const user = await store.selectUser(db, row.id);
    if (user !== undefined) {
      throw new AppError(
        'credential_in_use',
        `The repository "${user}" uses this credential; give it another one first.`,
      );
    }
    await store.deleteCredential(db, row.id);
  }

  /** Refuses a credential the organization does not have, and keeps it from going before the transaction ends. */
  async function share(db: Db, caller: Caller, id: string): Promise<void> {
    const row = await store.shareCredential(db, { organizationId: caller.organizationId, id });
    if (!row) throw notFound('Credential');
  }

  /** The credential in clear, for git alone. */
  async function open(db: Db, key: { organizationId: string; id: string }): Promise<GitCredential> {
    const row = await store.selectCredential(db, key);
    if (!row) throw notFound('Credential');
    return { username: row.username, secret: sealer.open(row.secret, context(row.id)) };
  }

  return { list, create, remove, share, open };
}

const context = (id: string) => sealedContext('repository_credential', 'secret', id);

const nameTaken = (name: string) => ({
  repository_credential_name_key: () =>
    new AppError('already_exists', `A credential named "${name}" already exists.`),
});
