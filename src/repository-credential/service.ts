import type { z } from 'zod';
import type { Caller } from '../account/caller.ts';
import { AppError, notFound } from '../contract/error.ts';
import type { repositoryCredentialOperations } from '../contract/repository-credential.ts';
import type { Db } from '../db/database.ts';
import { refusing } from '../db/violation.ts';
import type { GitCredential } from '../git/environment.ts';
import { type AppTokens, readAppKey } from '../git-host/app-token.ts';
import type { Sealer } from '../secret/seal.ts';
import { sealedContext } from '../secret/sealed-columns.ts';
import * as store from './store.ts';

type CreateBody = z.output<(typeof repositoryCredentialOperations.createRepositoryCredential)['body']>;
type Parts = {
  /** Tokens of GitHub Apps. */
  appTokens: AppTokens;
  sealer: Sealer;
  newId: () => string;
  now: () => Date;
};

export type { CredentialRow } from './store.ts';
export type RepositoryCredentialService = ReturnType<typeof createRepositoryCredentialService>;

const MAX_CREDENTIALS = 500;
/** What GitHub expects beside the token of an installation. */
const APP_USER_NAME = 'x-access-token';

export function createRepositoryCredentialService({ appTokens, sealer, newId, now }: Parts) {
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
    const { kind, username, secret } = parse(body);
    const row = {
      id,
      organization_id: caller.organizationId,
      name: body.name,
      kind,
      username,
      secret: sealer.seal(secret, context(id)),
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

  /**
   * The credential in clear, for git and the API of the repository's host alone. That of a GitHub App may have to be
   * asked for at the host, so this is not for a transaction; what the host refuses is a `GitHostError`.
   */
  async function open(
    db: Db,
    { url, ...key }: { organizationId: string; id: string; url: string },
  ): Promise<GitCredential> {
    const row = await store.selectCredential(db, key);
    if (!row) throw notFound('Credential');
    const { id, username } = row;
    const secret = sealer.open(row.secret, context(id));
    if (row.kind === 'token') return { username, secret };
    const { organizationId } = key;
    const app = { organizationId, credentialId: id, appId: username, privateKey: secret, url };
    const token = await appTokens.tokenFor(db, app);
    const renew = async () => {
      const other = await appTokens.replace(db, app, token);
      return other === null ? null : { username: APP_USER_NAME, secret: other };
    };
    return { username: APP_USER_NAME, secret: token, renew };
  }

  return { list, create, remove, share, open };
}

function parse(body: CreateBody): { kind: string; username: string; secret: string } {
  if (body.kind !== 'github_app') return { kind: 'token', username: body.username, secret: body.token };
  if (!readAppKey(body.private_key))
    throw new AppError(
      'invalid_request',
      'private_key is not the private key of a GitHub App: an RSA key of at least 2048 bits, in PEM and without a password.',
    );
  return { kind: 'github_app', username: body.app_id, secret: body.private_key };
}

const context = (id: string) => sealedContext('repository_credential', 'secret', id);

const nameTaken = (name: string) => ({
  repository_credential_name_key: () =>
    new AppError('already_exists', `A credential named "${name}" already exists.`),
});
