import { isPublicAddress } from './address-guard.ts';

type Wanted = {
  /** The name of the field that holds the address, for the sentence of a refusal. */
  field: string;
  allowPrivateTargets: boolean;
};
type ParsedTarget = { url: URL; refusal: null } | { url: null; refusal: string };

/**
 * Reads an address that a user wants to be called. Names are checked again at the time of a call, when it is known
 * what they resolve to.
 */
export function parseTargetUrl(given: string, { field, allowPrivateTargets }: Wanted): ParsedTarget {
  const url = /[\s\p{Cc}\\]/u.test(given) ? null : URL.parse(given);
  if (!url || !/^https?:\/\/[^/]/i.test(given)) return refuse(`The ${field} must be an https:// URL.`);
  if (url.protocol === 'http:' && !allowPrivateTargets) {
    return refuse(`The ${field} must start with https://; this service does not allow http://.`);
  }
  if (url.username !== '' || url.password !== '') {
    return refuse(`The ${field} must not contain a user name or password.`);
  }
  if (given.includes('#')) return refuse(`The ${field} must not contain a fragment.`);
  if (!allowPrivateTargets && isPrivateHost(url.hostname)) {
    return refuse(`The host ${url.hostname} is not public, and this service does not allow private targets.`);
  }
  return { url, refusal: null };
}

/** The URL parser has written every spelling of an IPv4 address as dotted decimal. */
function isPrivateHost(hostname: string): boolean {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  const isAddress = hostname.startsWith('[') || /^[0-9.]+$/.test(bare);
  return isAddress ? !isPublicAddress(bare) : /(?:^|\.)localhost$/.test(bare);
}

function refuse(refusal: string): ParsedTarget {
  return { url: null, refusal };
}
