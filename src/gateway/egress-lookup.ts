import { Resolver, lookup as systemLookup } from 'node:dns/promises';

/**
 * Asks the name servers without the system's resolver, which works in the few threads that all files share: names that
 * a sandbox makes slow to look up would hold up everything else.
 */
export async function lookUpByDns(host: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: 2_000, tries: 3 });
  const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const addresses = found.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length === 0) throw new Error('the name servers know no address', { cause: found });
  return addresses;
}

/** For hosts that somebody has listed: private ones often stand in a file of this machine and nowhere else. */
export async function lookUpEverywhere(host: string): Promise<string[]> {
  try {
    return await lookUpByDns(host);
  } catch {
    return (await systemLookup(host, { all: true })).map(({ address }) => address);
  }
}
