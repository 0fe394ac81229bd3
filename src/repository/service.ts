import type { z } from 'zod';
import type { Caller } from '../account/caller.ts';
import { AppError, notFound } from '../contract/error.ts';
import { repositoryName, type repositoryOperations } from '../contract/repository.ts';
import type { Db } from '../db/database.ts';
import { refusing } from '../db/violation.ts';
import { isBranchName } from '../git/refs.ts';
import type { GitRemote } from '../git/remote.ts';
import { type GitUrl, GitUrlError, parseGitUrl } from '../git/url.ts';
import type { RepositoryCredentialService } from '../repository-credential/service.ts';
import type { WarmPoolService } from '../warm-pool/service.ts';
import { createRepositoryChecks } from './checks.ts';
import { type RepositoryContent, selectContents, selectContentsOfSet } from './content-store.ts';
import { shareSet } from './set-store.ts';
import * as store from './store.ts';

type CreateBody = z.output<(typeof repositoryOperations.createRepository)['body']>;
type UpdateBody = z.output<(typeof repositoryOperations.updateRepository)['body']>;
type Binding = { repository_id?: string | null; repository_set_id?: string | null };
type Parts = {
  credentials: Pick<RepositoryCredentialService, 'share' | 'open'>;
  warmPools: Pick<WarmPoolService, 'bumpRepository'>;
  /** Whether URLs may name private addresses, http:// and file://. */
  allowPrivateTargets: boolean;
  newId: () => string;
  now: () => Date;
};

export type { RepositoryContent } from './content-store.ts';
export type { RepositoryRow } from './store.ts';
export type RepositoryService = ReturnType<typeof createRepositoryService>;

const MAX_REPOSITORIES = 2_000;

export function createRepositoryService(parts: Parts) {
  const { credentials, warmPools, allowPrivateTargets, newId, now } = parts;
  const checks = createRepositoryChecks({ credentials, warmPools, now });

  function list(db: Db, caller: Caller): Promise<store.RepositoryRow[]> {
    return store.selectRepositories(db, caller.organizationId);
  }

  async function read(db: Db, caller: Caller, id: string): Promise<store.RepositoryRow> {
    const row = await store.selectRepository(db, { organizationId: caller.organizationId, id });
    if (!row) throw notFound('Repository');
    return row;
  }

  async function hold(db: Db, caller: Caller, id: string): Promise<store.RepositoryRow> {
    const row = await store.lockRepository(db, { organizationId: caller.organizationId, id });
    if (!row) throw notFound('Repository');
    return row;
  }

  async function create(db: Db, caller: Caller, body: CreateBody): Promise<store.RepositoryRow> {
    const parsed = parseUrl(body.url, allowPrivateTargets);
    const name = body.name ?? nameFromUrl(parsed);
    const branch = requireBranchName(body.default_branch ?? null);
    if (body.credential_id) await credentials.share(db, caller, body.credential_id);
    if ((await store.countRepositories(db, caller.organizationId)) >= MAX_REPOSITORIES) {
      throw new AppError(
        'limit_reached',
        `An organization has at most ${MAX_REPOSITORIES} repositories; disconnect one first.`,
      );
    }
    const row = {
      id: newId(),
      organization_id: caller.organizationId,
      credential_id: body.credential_id ?? null,
      name,
      url: parsed.url,
      url_key: parsed.key,
      requested_branch: branch,
      default_branch: branch,
      status: 'checking',
      created_at: now(),
      updated_at: now(),
    };
    await refusing(taken(name, parsed.url), () => store.insertRepository(db, row));
    return checks.request(db, row.id);
  }

  async function update(
    db: Db,
    caller: Caller,
    change: { id: string; body: UpdateBody },
  ): Promise<store.RepositoryRow> {
    const row = await hold(db, caller, change.id);
    const { name = row.name, credential_id = row.credential_id } = change.body;
    const { default_branch: requested_branch = row.requested_branch } = change.body;
    requireBranchName(requested_branch);
    if (credential_id && credential_id !== row.credential_id) {
      await credentials.share(db, caller, credential_id);
    }
    const default_branch = requested_branch ?? row.default_branch;
    const changed = await refusing(taken(name, row.url), () =>
      store.updateRepository(db, row.id, {
        name,
        credential_id,
        requested_branch,
        default_branch,
        updated_at: now(),
      }),
    );
    if (default_branch !== row.default_branch) await warmPools.bumpRepository(db, row.id);
    const isReadOtherwise = credential_id !== row.credential_id || requested_branch !== row.requested_branch;
    return isReadOtherwise ? checks.request(db, row.id) : changed;
  }

  async function remove(db: Db, caller: Caller, id: string): Promise<void> {
    const row = await hold(db, caller, id);
    const user = await store.selectUser(db, row.id);
    if (user) {
      const remedy =
        user.kind === 'environment' ? 'bind it to something else' : 'take the repository out of it';
      throw new AppError(
        'repository_in_use',
        `The ${user.kind} "${user.name}" uses this repository; ${remedy} first.`,
      );
    }
    await store.deleteRepository(db, row.id);
  }

  /** Asks for a check that begins after now; `checks.settled` waits for it once the transaction is committed. */
  async function askForCheck(db: Db, caller: Caller, id: string): Promise<store.RepositoryRow> {
    const row = await hold(db, caller, id);
    return checks.request(db, row.id);
  }

  /** Refuses what the organization does not have, and keeps what is named from going before the transaction ends. */
  async function requireBinding(db: Db, caller: Caller, binding: Binding): Promise<void> {
    const { organizationId } = caller;
    if (binding.repository_id) {
      const found = await store.shareRepositories(db, { organizationId, ids: [binding.repository_id] });
      if (found.length === 0) throw notFound('Repository');
    }
    if (binding.repository_set_id) {
      const found = await shareSet(db, { organizationId, id: binding.repository_set_id });
      if (!found) throw notFound('Repository set');
    }
  }

  /** The repositories an environment is bound to, in order, with what the last check read from them. */
  async function boundRepositories(
    db: Db,
    environment: { organization_id: string; repository_id: string | null; repository_set_id: string | null },
  ): Promise<RepositoryContent[]> {
    const { organization_id: organizationId, repository_id, repository_set_id } = environment;
    if (repository_id) return selectContents(db, { organizationId, ids: [repository_id] });
    if (repository_set_id) return selectContentsOfSet(db, { organizationId, setId: repository_set_id });
    return [];
  }

  /** How git reads a repository that the organization has connected; null when it has none of this URL. */
  async function remoteByUrl(
    db: Db,
    key: { organizationId: string; urlKey: string },
  ): Promise<{ repositoryId: string; openRemote(): Promise<GitRemote> } | null> {
    const row = await store.selectRepositoryByUrl(db, key);
    return row ? { repositoryId: row.id, openRemote: () => remoteOf(db, row) } : null;
  }

  /** How git reads a repository that an environment is bound to; null when it is not bound to it. */
  async function boundRemote(
    db: Db,
    key: { organizationId: string; environmentId: string; repositoryId: string },
  ): Promise<GitRemote | null> {
    const row = await store.selectBound(db, key);
    return row ? remoteOf(db, row) : null;
  }

  /** How git reads a repository of the organization, for who has it checked out. */
  async function remoteById(db: Db, key: { organizationId: string; id: string }): Promise<GitRemote | null> {
    const row = await store.selectRepository(db, key);
    return row ? remoteOf(db, row) : null;
  }

  /** Throws a `GitError` when the credential is one that the git host gives and it gives none. */
  async function remoteOf(db: Db, row: store.RepositoryRow): Promise<GitRemote> {
    return { url: row.url, credential: await checks.openCredential(db, row) };
  }

  return {
    list,
    read,
    create,
    update,
    remove,
    askForCheck,
    requireBinding,
    boundRepositories,
    remoteByUrl,
    boundRemote,
    remoteById,
    refresh: checks.refresh,
    checks,
  };
}

function parseUrl(url: string, allowPrivateTargets: boolean): GitUrl {
  try {
    return parseGitUrl(url, { allowPrivateTargets });
  } catch (error) {
    if (error instanceof GitUrlError) throw new AppError('invalid_request', error.message);
    throw error;
  }
}

function nameFromUrl(parsed: GitUrl): string {
  const name = repositoryName.safeParse(parsed.name);
  if (name.success) return name.data;
  throw new AppError(
    'invalid_request',
    'The last part of the URL cannot be the name of a repository; pass `name`.',
  );
}

function requireBranchName(branch: string | null): string | null {
  if (branch === null || isBranchName(branch)) return branch;
  throw new AppError('invalid_request', 'default_branch is not a valid name of a git branch.');
}

const taken = (name: string, url: string) => ({
  repository_url_key: () => new AppError('already_exists', `The repository ${url} is already connected.`),
  repository_name_key: () =>
    new AppError('already_exists', `A repository named "${name}" already exists; pass another \`name\`.`),
});
