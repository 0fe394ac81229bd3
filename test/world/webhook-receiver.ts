import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export type Received = {
  path: string;
  headers: IncomingHttpHeaders;
  /** The bytes as they came. */
  body: Buffer;
  atMs: number;
  /** The id of the event, and of the delivery that brought it. */
  eventId: string;
  deliveryId: string;
};
type Behaviour = (response: ServerResponse, received: Received, times: number) => void;
export type WebhookReceiver = Awaited<ReturnType<typeof startWebhookReceiver>>;

/** Somebody who receives webhooks, on the loopback address. It answers 204 where nothing else was asked of it. */
export async function startWebhookReceiver() {
  const all: Received[] = [];
  const behaviours = new Map<string, Behaviour>();
  const server = createServer(async (request, response) => {
    const { url: path = '', headers } = request;
    const body = await buffer(request).catch(() => null);
    if (body === null) return;
    const [eventId, deliveryId] = [headers['x-service-event-id'], headers['x-service-delivery']].map(String);
    const received = {
      path,
      headers,
      body,
      atMs: performance.now(),
      eventId: eventId ?? '',
      deliveryId: deliveryId ?? '',
    };
    all.push(received);
    const behave = behaviours.get(path);
    if (behave) behave(response, received, at(path).length);
    else response.writeHead(204).end();
  });
  const at = (path: string) => all.filter((one) => one.path === path);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    all,
    port,
    url: (path: string) => `http://127.0.0.1:${port}${path}`,
    /** What has come to a path, in order. */
    at,
    /** How a path answers; `times` says how often it was called, this time included. */
    behave: (path: string, behaviour: Behaviour) => void behaviours.set(path, behaviour),
    async close(): Promise<void> {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
