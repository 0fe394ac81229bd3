import { lookup as systemLookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { Agent, buildConnector, type Dispatcher } from 'undici';

/**
 * Keeps calls that are made on behalf of users away from private addresses: resolve the name, check every address,
 * connect to nothing but what was checked. A check before the connection alone is not enough, since a name may
 * resolve to another address a moment later.
 */

/** All addresses of a host name. */
export type Lookup = (host: string) => Promise<string[]>;

type GuardOptions = {
  /** The operator's word that users may reach addresses that are not public. */
  allowPrivateTargets: boolean;
  /** Replaces the system's resolver. */
  lookup?: Lookup;
};

/** The target is, or resolves to, an address that users may not reach. */
export class PrivateTargetError extends Error {
  override name = 'PrivateTargetError';
  host: string;

  constructor(host: string) {
    super(`The host ${host} is not a public address, and this service does not allow private targets.`);
    this.host = host;
  }
}

/** The target is no host name, or no address is known for it. */
export class UnresolvedTargetError extends Error {
  override name = 'UnresolvedTargetError';
}

/** Whether an IPv4 or IPv6 address in its usual form is reachable on the public internet; false for anything else. */
export function isPublicAddress(address: string): boolean {
  const bare = address.split('%', 1)[0] ?? '';
  if (ipaddr.IPv4.isValidFourPartDecimal(bare)) return isPublicV4(ipaddr.IPv4.parse(bare));
  // ipaddr.js reads `::8.8.8.8` as an IPv4-mapped address, which it is not; the URL parser writes it out in groups.
  const groups = /^[0-9a-f.]*:[0-9a-f:.]*$/i.test(bare)
    ? URL.parse(`http://[${bare}]/`)?.hostname.slice(1, -1)
    : undefined;
  return groups !== undefined && isPublicV6(ipaddr.IPv6.parse(groups));
}

/** The addresses to connect to. One address that is not public refuses the host as a whole. */
export async function resolveTarget(
  host: string,
  options: GuardOptions & { signal?: AbortSignal },
): Promise<string[]> {
  options.signal?.throwIfAborted();
  const name = canonicalHost(host);
  const literal = literalAddress(name);
  const addresses = literal === null ? await lookUp(name, options) : [literal];
  if (!options.allowPrivateTargets && !addresses.every(isPublicAddress)) throw new PrivateTargetError(name);
  return addresses;
}

/**
 * An undici dispatcher whose every connection is checked and pinned. `undici.request` follows no redirect by itself;
 * a caller of `fetch` passes `redirect: 'manual'`.
 */
export function guardedDispatcher(options: GuardOptions & { connectTimeoutMs?: number }): Dispatcher {
  const connect = buildConnector({
    timeout: options.connectTimeoutMs ?? 10_000,
    lookup: guardedLookup(options),
  } as buildConnector.BuildOptions);
  return new Agent({
    connect(target, callback) {
      // The socket layer asks no resolver about a literal address, so that one is checked here.
      const literal = literalAddress(target.hostname);
      if (literal !== null && !options.allowPrivateTargets && !isPublicAddress(literal)) {
        callback(new PrivateTargetError(literal), null);
        return;
      }
      connect(target, callback);
    },
  });
}

function guardedLookup(options: GuardOptions): LookupFunction {
  return (hostname, lookupOptions, callback) => {
    resolveTarget(hostname, options).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
        const wanted = found.filter(
          ({ family }) =>
            !lookupOptions.family ||
            lookupOptions.family === family ||
            lookupOptions.family === `IPv${family}`,
        );
        const first = wanted[0];
        if (first === undefined)
          callback(new UnresolvedTargetError(`No address is known for ${hostname}.`), '');
        else if (lookupOptions.all) callback(null, wanted);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, ''),
    );
  };
}

async function lookUp(
  name: string,
  { lookup = resolveBySystem, signal }: GuardOptions & { signal?: AbortSignal },
): Promise<string[]> {
  const addresses = await orAborted(
    lookup(name).catch((cause: unknown) => {
      throw new UnresolvedTargetError(`No address is known for the host ${name}.`, { cause });
    }),
    signal,
  );
  if (addresses.length === 0) throw new UnresolvedTargetError(`No address is known for the host ${name}.`);
  return [...new Set(addresses)];
}

async function resolveBySystem(host: string): Promise<string[]> {
  const found = await systemLookup(host, { all: true });
  return found.map((entry) => entry.address);
}

/** The system's resolver cannot be stopped; the caller stops waiting for it. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * The URL parser of the web platform knows every way to spell an IPv4 address (`127.1`, `0x7f.1`, `2130706433`,
 * full-width digits) that a resolver further down may understand, so it decides what the host is.
 */
function canonicalHost(host: string): string {
  const bracketed = host.includes(':') && !host.startsWith('[') ? `[${host.split('%', 1)[0]}]` : host;
  const spelled = /^(?:\[[0-9A-Fa-f:.]+\]|[^\s/\\?#@:[\]<>^|%]+)$/u.test(bracketed) ? bracketed : '';
  const url = URL.parse(`http://${spelled}/`);
  const name = url?.hostname.replace(/\.$/, '') ?? '';
  if (name === '' || name.length > 253) throw new UnresolvedTargetError('The host is not a valid host name.');
  return name;
}

/** Only forms that the URL parser leaves behind count: dotted decimal, and IPv6 with or without brackets. */
function literalAddress(host: string): string | null {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return ipaddr.IPv4.isValidFourPartDecimal(bare) || ipaddr.IPv6.isValid(bare) ? bare : null;
}

function isPublicV4(address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast';
}

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');
const wellKnownNat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
/** Blocks inside the global range that ipaddr.js has no name for: IETF protocol assignments and documentation. */
const setAside = ['2001::/23', '2001:db8::/32', '3fff::/20'].map((block) => ipaddr.IPv6.parseCIDR(block));

function isPublicV6(address: ipaddr.IPv6): boolean {
  const bytes = address.toByteArray();
  if (address.isIPv4MappedAddress()) return isPublicV4(address.toIPv4Address());
  // A translator on the way turns these into the IPv4 address they carry.
  if (address.match(wellKnownNat64)) return isPublicV4(new ipaddr.IPv4(bytes.slice(12)));
  if (address.range() === '6to4') return isPublicV4(new ipaddr.IPv4(bytes.slice(2, 6)));
  if (!address.match(globalUnicast) || setAside.some((block) => address.match(block))) return false;
  return address.range() === 'unicast';
}
