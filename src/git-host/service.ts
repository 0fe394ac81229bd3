import type { Caller } from '../account/caller.ts';
import { parseBaseUrl } from '../coding-agent/base-url.ts';
import { AppError } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import type { GitRemote } from '../git/remote.ts';
import { type GitUrl, GitUrlError, parseGitUrl } from '../git/url.ts';
import { guardedDispatcher } from '../lib/address-guard.ts';
import { createGitHub } from './github.ts';
import { createGitLab } from './gitlab.ts';
import { type GitHost, GitHostError, type GitHostKind, usualSetting } from './host.ts';
import * as store from './store.ts';

type Parts = { allowPrivateTargets: boolean; newId: () => string; now: () => Date };

/** More than anybody has; what can be made by a caller has a bound. */
const MAX_HOSTS = 50;

export type GitHostService = ReturnType<typeof createGitHostService>;

/** The git hosts of organizations, and how to speak to the one of a repository. */
export function createGitHostService({ allowPrivateTargets, newId, now }: Parts) {
  const dispatcher = guardedDispatcher({ allowPrivateTargets });

  async function set(
    db: Db,
    caller: Caller,
    wanted: { host: string; kind: GitHostKind; apiUrl: string },
  ): Promise<store.GitHostRow> {
    const { organizationId } = caller;
    const { baseUrl, refusal } = parseBaseUrl(wanted.apiUrl, { allowPrivateTargets });
    if (baseUrl === null) throw new AppError('invalid_request', refusal.replace('base_url', 'api_url'));
    const { host, kind } = wanted;
    const known = await store.selectHosts(db, organizationId);
    if (known.length >= MAX_HOSTS && !known.some((row) => row.host === host))
      throw new AppError('limit_reached', `An organization has at most ${MAX_HOSTS} git hosts.`);
    return store.upsertHost(db, {
      id: newId(),
      organization_id: organizationId,
      host,
      kind,
      api_url: baseUrl,
      updated_at: now(),
    });
  }

  /** The API of the host on which a repository is, with the repository's own token. */
  async function of(db: Db, organizationId: string, remote: GitRemote): Promise<GitHost> {
    const { host, fullName } = parse(remote.url);
    const row = host === null ? undefined : await store.selectHost(db, { organizationId, host });
    const setting = row ? { kind: row.kind as GitHostKind, apiUrl: row.api_url } : host && usualSetting(host);
    if (!setting)
      throw new GitHostError(
        `It is not known how ${host ?? 'this repository'} opens pull requests; an admin says so with PUT /v1/organization/git-hosts/{host}.`,
      );
    const token = remote.credential?.secret;
    if (!token)
      throw new GitHostError(
        'The repository has no credential, and pull requests need one; an admin sets it on the repository.',
      );
    const make = setting.kind === 'github' ? createGitHub : createGitLab;
    return make({ apiUrl: setting.apiUrl, token, fullName, dispatcher });
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
    set,
    list: (db: Db, caller: Caller) => store.selectHosts(db, caller.organizationId),
    remove: (db: Db, caller: Caller, host: string) =>
      store.deleteHost(db, { organizationId: caller.organizationId, host }),
  };
}
