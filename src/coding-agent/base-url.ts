import { isPublicAddress } from '../lib/address-guard.ts';

type ParsedBaseUrl = { baseUrl: string; refusal: null } | { baseUrl: null; refusal: string };

/**
 * Reads the address of a model API into the spelling that is kept, without a slash at the end. Names are checked
 * again at the time of a call, when it is known what they resolve to.
 */
export function parseBaseUrl(given: string, options: { allowPrivateTargets: boolean }): ParsedBaseUrl {
  const url = /[\s\p{Cc}\\]/u.test(given) ? null : URL.parse(given);
  if (!url || !/^https?:\/\/[^/]/i.test(given)) return refuse('The base_url must be an https:// URL.');
  if (url.protocol === 'http:' && !options.allowPrivateTargets) {
    return refuse('The base_url must start with https://; this service does not allow http://.');
  }
  if (url.username !== '' || url.password !== '') {
    return refuse('The base_url must not contain a user name or password.');
  }
  if (/[?#]/.test(given)) return refuse('The base_url must not contain a query or a fragment.');
  if (!options.allowPrivateTargets && isPrivateHost(url.hostname)) {
    return refuse(`The host ${url.hostname} is not public, and this service does not allow private targets.`);
  }
  return { baseUrl: url.href.replace(/\/+$/, ''), refusal: null };
}

/** The URL parser has written every spelling of an IPv4 address as dotted decimal. */
function isPrivateHost(hostname: string): boolean {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  const isAddress = hostname.startsWith('[') || /^[0-9.]+$/.test(bare);
  return isAddress ? !isPublicAddress(bare) : /(?:^|\.)localhost$/.test(bare);
}

function refuse(refusal: string): ParsedBaseUrl {
  return { baseUrl: null, refusal };
}
