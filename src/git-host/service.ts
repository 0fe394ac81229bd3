import type { Caller } from '../account/caller.ts';
import { parseBaseUrl } from '../coding-agent/base-url.ts';
import { AppError } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import type { GitRemote } from '../git/remote.ts';
import { type GitUrl, GitUrlError, parseGitUrl } from '../git/url.ts';
import { guardedDispatcher } from '../lib/address-guard.ts';
import type { Sealer } from '../secret/seal.ts';
import { sealedContext } from '../secret/sealed-columns.ts';
import { createGitHub } from './github.ts';
import { createGitLab } from './gitlab.ts';
import {
  type GitHost,
  GitHostError,
  type GitHostKind,
  type GitHostPlace,
  usualApiUrls,
  usualSetting,
} from './host.ts';
import * as store from './store.ts';

type Parts = { sealer: Sealer; allowPrivateTargets: boolean; newId: () => string; now: () => Date };
type Wanted = {
  host: string;
  kind: GitHostKind;
  apiUrl?: string | undefined;
  /** The present one stays when it is absent; null removes it. */
  webhookSecret?: string | null | undefined;
};

/** More than anybody has; what can be made by a caller has a bound. */
const MAX_HOSTS = 50;

export type GitHostService = ReturnType<typeof createGitHostService>;

/** The git hosts of organizations, and how to speak to the one of a repository. */
export function createGitHostService({ sealer, allowPrivateTargets, newId, now }: Parts) {
  const dispatcher = guardedDispatcher({ allowPrivateTargets });

  async function set(db: Db, caller: Caller, wanted: Wanted): Promise<store.GitHostRow> {
    const { organizationId } = caller;
    const { host, kind, webhookSecret: secret } = wanted;
    const api_url = wanted.apiUrl === undefined ? usualApiUrl(wanted) : acceptApiUrl(wanted.apiUrl);
    const known = await store.selectHosts(db, organizationId);
    if (known.length >= MAX_HOSTS && !known.some((row) => row.host === host))
      throw new AppError('limit_reached', `An organization has at most ${MAX_HOSTS} git hosts.`);
    const id = newId();
    return store.upsertHost(db, {
      id,
      organization_id: organizationId,
      host,
      kind,
      api_url,
      ...(secret !== undefined && {
        webhook_secret: secret === null ? null : sealer.seal(secret, context(id)),
      }),
      updated_at: now(),
    });
  }

  function acceptApiUrl(given: string): string {
    const { baseUrl, refusal } = parseBaseUrl(given, { allowPrivateTargets });
    if (baseUrl === null) throw new AppError('invalid_request', refusal.replace('base_url', 'api_url'));
    return baseUrl;
  }

  /** What the host signs its events with. */
  function openWebhookSecret(row: { id: string; webhook_secret: Buffer }): string {
    return sealer.open(row.webhook_secret, context(row.id));
  }

  /** Which kinds of host the organization is connected to: their events are taken, or repositories read with a credential. */
  async function integrations(db: Db, organizationId: string): Promise<Record<GitHostKind, boolean>> {
    const [rows, read] = await Promise.all([
      store.selectHosts(db, organizationId),
      store.selectCredentialHosts(db, organizationId),
    ]);
    const heard = rows.filter((row) => row.webhook_secret !== null).map((row) => row.kind);
    const kinds = read.map(
      (host) => rows.find((row) => row.host === host)?.kind ?? usualSetting(host)?.kind ?? null,
    );
    const has = (kind: GitHostKind) => heard.includes(kind) || kinds.includes(kind);
    return { github: has('github'), gitlab: has('gitlab') };
  }

  /** Where the API of the host of a repository is, and what the host calls the repository. */
  async function locate(db: Db, organizationId: string, url: string): Promise<GitHostPlace> {
    const { host, fullName } = parse(url);
    const row = host === null ? undefined : await store.selectHost(db, { organizationId, host });
    const setting = row ? { kind: row.kind as GitHostKind, apiUrl: row.api_url } : host && usualSetting(host);
    if (host === null || !setting)
      throw new GitHostError(
        `It is not known where the API of ${host ?? 'this repository'} is; an admin says so with PUT /v1/organization/git-hosts/{host}.`,
      );
    return { ...setting, host, fullName, dispatcher };
  }

  /** The API of the host on which a repository is, with the repository's own token. */
  async function of(db: Db, organizationId: string, remote: GitRemote): Promise<GitHost> {
    const { kind, ...place } = await locate(db, organizationId, remote.url);
    const token = remote.credential?.secret;
    if (!token)
      throw new GitHostError(
        'The repository has no credential, and pull requests need one; an admin sets it on the repository.',
      );
    const make = kind === 'github' ? createGitHub : createGitLab;
    return make({ ...place, token });
  }

  /** Addresses of the APIs that an organization's repositories may be spoken of at. */
  async function apiUrls(db: Db, organizationId: string): Promise<string[]> {
    const rows = await store.selectHosts(db, organizationId);
    return [...rows.map((row) => row.api_url), ...usualApiUrls];
  }

  /** What the operator allows may have changed since the repository was connected. */
  function parse(url: string): GitUrl {
    try {
      return parseGitUrl(url, { allowPrivateTargets });
    } catch (error) {
      if (error instanceof GitUrlError) throw new GitHostError(error.message, { cause: error });
      throw error;
    }
  }

  return {
    of,
    locate,
    apiUrls,
    set,
    openWebhookSecret,
    integrations,
    list: (db: Db, caller: Caller) => store.selectHosts(db, caller.organizationId),
    remove: (db: Db, caller: Caller, host: string) =>
      store.deleteHost(db, { organizationId: caller.organizationId, host }),
  };
}

const context = (id: string) => sealedContext('git_host', 'webhook_secret', id);

function usualApiUrl({ host, kind }: Wanted): string {
  const usual = usualSetting(host);
  if (!usual)
    throw new AppError('invalid_request', `Pass api_url: it is not known where the API of ${host} is.`);
  if (usual.kind !== kind) throw new AppError('invalid_request', `The kind of ${host} is ${usual.kind}.`);
  return usual.apiUrl;
}
