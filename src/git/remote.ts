import { realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Lookup,
  PrivateTargetError,
  resolveTarget,
  UnresolvedTargetError,
} from '../lib/address-guard.ts';
import { basicAuthorization, type GitCredential, type GitSettings, remoteSettings } from './environment.ts';
import { GitError } from './failure.ts';
import { type GitUrl, GitUrlError, parseGitUrl } from './url.ts';

export type GitRemote = { url: string; credential?: GitCredential | null };

/** A remote that was checked, with the settings that bind git to what was checked. */
export type CheckedRemote = {
  url: string;
  isFile: boolean;
  addresses: string[];
  authorization: string | null;
  settings: GitSettings;
};

type CheckOptions = {
  cacheDir: string;
  allowPrivateTargets: boolean;
  lookup?: Lookup | undefined;
  signal: AbortSignal;
};

export async function checkRemote(remote: GitRemote, options: CheckOptions): Promise<CheckedRemote> {
  const { url: text, host } = parse(remote.url, options);
  const url = new URL(text);
  const credential = remote.credential ?? null;
  if (credential?.username.includes(':')) {
    throw new GitError('unauthorized', 'The user name of the credential must not contain a colon.');
  }
  if (host === null) await refuseOwnFolder(url, options.cacheDir);
  const addresses = host === null ? [] : await resolve(url.hostname, options);
  const authorization = credential && host !== null ? basicAuthorization(credential) : null;
  const settings = remoteSettings({ url, addresses, authorization });
  return { url: text, isFile: host === null, addresses, authorization, settings };
}

function parse(text: string, options: CheckOptions): GitUrl {
  try {
    return parseGitUrl(text, options);
  } catch (error) {
    if (error instanceof GitUrlError) throw new GitError('refused', error.message, { cause: error });
    throw error;
  }
}

async function resolve(host: string, options: CheckOptions): Promise<string[]> {
  const { allowPrivateTargets, lookup, signal } = options;
  try {
    return await resolveTarget(host, { allowPrivateTargets, signal, ...(lookup && { lookup }) });
  } catch (error) {
    if (error instanceof PrivateTargetError) throw new GitError('refused', error.message, { cause: error });
    if (error instanceof UnresolvedTargetError) {
      throw new GitError('unreachable', error.message, { cause: error });
    }
    throw error;
  }
}

/** The cache holds what other people's credentials opened, so it is no repository for anyone to name. */
async function refuseOwnFolder(url: URL, cacheDir: string): Promise<void> {
  const path = await realpath(fileURLToPath(url)).catch((cause: unknown) => {
    throw new GitError('not_found', 'There is no repository at this URL.', { cause });
  });
  if (`${path}${sep}`.startsWith(`${await realpath(cacheDir)}${sep}`)) {
    throw new GitError('not_found', 'There is no repository at this URL.');
  }
}
