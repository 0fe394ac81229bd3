import { isPublicAddress } from '../lib/address-guard.ts';

/** A git URL in one spelling. */
export type GitUrl = {
  /**
   * What git is given: host in lower case, default port, repeated and trailing slashes gone. A trailing `.git` stays
   * as it was written, since some hosts serve the repository only with it and others only without.
   */
  url: string;
  /** `url` without a trailing `.git`. Two URLs name the same repository when their keys are equal. */
  key: string;
  /** The last part of the path without `.git`. */
  name: string;
  /** Host, with its port when it is not the default one; null for `file://`. */
  host: string | null;
  /** The path without `.git`, such as `owner/name`; at most the last two parts of a `file://` path. */
  fullName: string;
};

/** The text is not a git URL that this service uses. The message is a sentence for the caller. */
export class GitUrlError extends Error {
  override name = 'GitUrlError';
}

const maxLength = 2048;
const tooLong = `The git URL is longer than ${maxLength} characters.`;

export function parseGitUrl(text: string, options: { allowPrivateTargets: boolean }): GitUrl {
  refuseText(text);
  const url = URL.parse(text);
  if (url === null) throw new GitUrlError('The git URL is not valid.');
  refuseScheme(url, options);
  if (url.username !== '' || url.password !== '' || authorityOf(text).includes('@')) {
    throw new GitUrlError('The git URL must not contain a user name or password; use a credential instead.');
  }
  refuseHost(url, options);
  // The setter refuses nothing here: removing the dot of an absolute name leaves a valid one.
  url.hostname = url.hostname.replace(/\.$/, '');
  url.pathname = url.pathname.replace(/\/{2,}/g, '/').replace(/\/+$/, '');
  if (url.href.length > maxLength) throw new GitUrlError(tooLong);
  const parts = pathParts(url.pathname);
  const name = parts.at(-1) ?? '';
  const isFile = url.protocol === 'file:';
  return {
    url: url.href,
    key: url.href.replace(/\.git$/, ''),
    name,
    host: isFile ? null : url.host,
    fullName: (isFile ? parts.slice(-2) : parts).join('/'),
  };
}

function refuseText(text: string): void {
  if (text.length > maxLength) throw new GitUrlError(tooLong);
  if (/[\s\p{Cc}\p{Cf}\p{Cs}]/u.test(text) || /%(?:[01][0-9a-f]|7f)/i.test(text)) {
    throw new GitUrlError('The git URL must not contain spaces or control characters.');
  }
  if (/^https?:\/{3}/i.test(text)) throw new GitUrlError('The git URL names no host.');
  if (text.includes('\\')) throw new GitUrlError('The git URL must not contain a backslash.');
  if (/[?#]/.test(text)) throw new GitUrlError('The git URL must not contain a query or a fragment.');
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    throw new GitUrlError(
      'The git URL must start with https://; SSH addresses and local paths are not supported.',
    );
  }
}

function refuseScheme(url: URL, { allowPrivateTargets }: { allowPrivateTargets: boolean }): void {
  if (url.protocol === 'https:') return;
  if (url.protocol !== 'http:' && url.protocol !== 'file:') {
    throw new GitUrlError('The git URL must start with https://; other protocols are not supported.');
  }
  if (!allowPrivateTargets) {
    throw new GitUrlError(
      `The git URL must start with https://; this service does not allow ${url.protocol}//.`,
    );
  }
}

function refuseHost(url: URL, { allowPrivateTargets }: { allowPrivateTargets: boolean }): void {
  if (url.protocol === 'file:') {
    if (url.hostname !== '')
      throw new GitUrlError('A file:// URL must name a path of this machine, without a host.');
    return;
  }
  if (url.hostname.startsWith('-'))
    throw new GitUrlError('The host of the git URL must not start with a hyphen.');
  if (/^\.|\.\.|^$/.test(url.hostname)) throw new GitUrlError('The host of the git URL is not valid.');
  const bare = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  const isAddress = url.hostname.startsWith('[') || /^[0-9.]+$/.test(bare);
  const isPrivate = isAddress ? !isPublicAddress(bare) : /(?:^|\.)localhost$/.test(bare);
  if (isPrivate && !allowPrivateTargets) {
    throw new GitUrlError(`The host ${bare} is not public, and this service does not allow private targets.`);
  }
}

function pathParts(pathname: string): string[] {
  const parts = pathname
    .replace(/\.git$/, '')
    .split('/')
    .slice(1)
    .map(decodePart);
  const name = parts.at(-1);
  if (!name) throw new GitUrlError('The git URL must name a repository, as in https://host/owner/name.');
  if (parts.some((part) => part.startsWith('-'))) {
    throw new GitUrlError('No part of the path of the git URL may start with a hyphen.');
  }
  return parts;
}

function decodePart(part: string): string {
  try {
    const decoded = decodeURIComponent(part);
    if (!/[/\\]/.test(decoded)) return decoded;
  } catch {
    // Broken percent-encoding is refused together with encoded slashes.
  }
  throw new GitUrlError('The path of the git URL is not validly encoded.');
}

/** The URL parser drops an empty user name, so the text itself is looked at for `https://@host/`. */
function authorityOf(text: string): string {
  return text.replace(/^[^/]*\/\//, '').split('/', 1)[0] ?? '';
}
