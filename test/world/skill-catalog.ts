import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A stand-in for the external skill catalog, on the loopback address. What is searched for decides how it behaves. */
export type SkillCatalogStandIn = {
  url: string;
  /** Path and query of every request so far. */
  requests: string[];
  close(): Promise<void>;
};

type Behaviour = (response: ServerResponse, base: string) => void;

export async function startSkillCatalog(behaviours: Record<string, Behaviour>): Promise<SkillCatalogStandIn> {
  const requests: string[] = [];
  // Searches are arbitrary text, which may be the name of something every object has.
  const known = new Map(Object.entries(behaviours));
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    const url = new URL(request.url ?? '/', base);
    const behave = known.get(url.searchParams.get('q') ?? '') ?? known.get(url.pathname.slice(1));
    if (behave) behave(response, base);
    else response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${base}/api/search`,
    requests,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
