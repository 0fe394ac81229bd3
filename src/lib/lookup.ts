import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import type { Lookup } from './address-guard.ts';

/** What DNS says when it does not know a name; the machine itself may, in its list of hosts. */
const unknown = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED', 'EBADNAME']);

type Options = {
  /**
   * Whether the system's resolver is asked about names that DNS does not know, such as those in the machine's list of hosts.
   * Only where private targets are allowed: who has a name server of their own could keep it waiting.
   */
  asksSystem: boolean;
  timeoutMs?: number;
  servers?: readonly string[];
};

/**
 * Asks DNS directly, each server for a bounded time. The system's resolver waits on threads that the whole process shares: a
 * few names whose servers never answer would hold up everything else.
 */
export function createLookup({ asksSystem, timeoutMs = 2_000, servers = [] }: Options): Lookup {
  const resolver = new Resolver({ timeout: timeoutMs, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);

  return async (host) => {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    const failure = answers.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    if (failure && !(asksSystem && unknown.has(failure.reason?.code))) throw failure.reason;
    return asksSystem ? (await systemLookup(host, { all: true })).map(({ address }) => address) : [];
  };
}
