import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export type ProviderRequest = { method: string; url: string; headers: IncomingHttpHeaders; body: Buffer };
type Behaviour = (response: ServerResponse, request: ProviderRequest) => void | Promise<void>;

/**
 * A stand-in for a model provider, on the loopback address. It answers what the test tells it, byte for byte, and keeps
 * what it was sent.
 */
export type ModelProviderStandIn = {
  url: string;
  /** Every request whose body has come, in order. */
  requests: ProviderRequest[];
  /** What it does with the requests that follow. */
  behave(behaviour: Behaviour): void;
  /** The last answer that it has begun. */
  lastAnswer(): ServerResponse;
  close(): Promise<void>;
};

export async function startModelProvider(): Promise<ModelProviderStandIn> {
  const requests: ProviderRequest[] = [];
  const answers: ServerResponse[] = [];
  let behaviour: Behaviour = (response) => void response.writeHead(200).end('{}');

  const server = createServer(async (request, response) => {
    response.on('error', () => {});
    try {
      const { method = '', url = '', headers } = request;
      const received = { method, url, headers, body: await buffer(request) };
      requests.push(received);
      answers.push(response);
      await behaviour(response, received);
    } catch {
      response.destroy();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    behave(next) {
      behaviour = next;
    },
    lastAnswer() {
      const last = answers.at(-1);
      if (!last) throw new Error('the provider was not asked');
      return last;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
