import { isIP } from 'node:net';

/** What a sandbox may reach besides the repositories, for which the gateway has a road of its own. */
export type EgressPolicy = {
  /** Nothing; the hosts that are listed; or every public host. */
  mode: 'none' | 'allowlist' | 'open';
  /** `example.com`, `*.example.com` for all names below it, `10.0.0.5`, `[2001:db8::1]`, each with `:port` or without. */
  hosts: readonly string[];
};

export type EgressTarget = { host: string; port: number };

export type EgressReason =
  | 'listed'
  | 'open'
  | 'no_egress'
  | 'not_listed'
  | 'port_not_allowed'
  | 'not_a_host'
  /** These two are found only when the name is looked up. */
  | 'private_address'
  | 'unresolved';

export type EgressDecision = {
  isAllowed: boolean;
  reason: EgressReason;
  /** Whether the host stands in the list by itself: only then may it be a private one, if the operator agrees. */
  isListed: boolean;
};

const webPorts = [80, 443];
const mailPort = 25;

/** Decides by name alone; the addresses behind the name are checked when it is looked up. */
export function decideEgress(policy: EgressPolicy, target: EgressTarget): EgressDecision {
  const host = normalizeHost(target.host);
  if (host === null) return refuse('not_a_host');
  if (policy.mode === 'none') return refuse('no_egress');
  const patterns = policy.hosts.map(parsePattern).filter((pattern) => pattern !== null);
  const matching = patterns.filter((pattern) => covers(pattern, host));
  if (matching.some(({ port }) => (port === null ? webPorts : [port]).includes(target.port))) {
    return { isAllowed: true, reason: 'listed', isListed: true };
  }
  if (policy.mode === 'allowlist') return refuse(matching.length > 0 ? 'port_not_allowed' : 'not_listed');
  // Mail is what an open network is misused for first.
  if (target.port === mailPort) return refuse('port_not_allowed');
  return { isAllowed: true, reason: 'open', isListed: false };
}

/** Whether a text is a pattern of a list, for those who take lists from people. */
export function isEgressPattern(text: string): boolean {
  return parsePattern(text) !== null;
}

/**
 * One spelling for each host: lower case, without a final dot, other scripts as `xn--`, addresses as four decimal
 * numbers or as the shortest IPv6 in brackets. The URL parser of the web platform knows every way to spell an IPv4
 * address that a resolver further down may understand, so it decides what the host is.
 */
export function normalizeHost(text: string): string | null {
  const bracketed = isIP(text) === 6 ? `[${text}]` : text;
  if (!/^(?:\[[0-9A-Fa-f:.]+\]|[^\s/\\?#@:[\]<>^|%*]{1,1024})$/u.test(bracketed)) return null;
  const name = URL.parse(`http://${bracketed}/`)?.hostname.replace(/\.$/, '') ?? '';
  const isNamed = name !== '' && name.length <= 253 && name.split('.').every(isLabel);
  return isNamed || /^\[[0-9a-f:]+\]$/.test(name) ? name : null;
}

type Pattern = { host: string; isWildcard: boolean; port: number | null };

function parsePattern(text: string): Pattern | null {
  const [, star, name = '', digits] = /^(\*\.)?(\[[^\]]*\]|[^:*]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = normalizeHost(name);
  const port = digits === undefined ? null : Number(digits);
  if (host === null || (port !== null && !isPort(port))) return null;
  const isWildcard = star !== undefined;
  // Addresses have nothing below them, and everything is below a top-level name.
  if (isWildcard && (isAddress(host) || !host.includes('.'))) return null;
  return { host, isWildcard, port };
}

function covers({ host: listed, isWildcard }: Pattern, host: string): boolean {
  return isWildcard ? host.endsWith(`.${listed}`) && !isAddress(host) : host === listed;
}

export function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}

function isAddress(host: string): boolean {
  return host.startsWith('[') || isIP(host) === 4;
}

function isLabel(label: string): boolean {
  return /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label);
}

function refuse(reason: EgressReason): EgressDecision {
  return { isAllowed: false, reason, isListed: false };
}
