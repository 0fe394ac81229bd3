import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

export type SentEvent = { seq: number; at: string; type: string; payload: Record<string, unknown> };
type Answer = { status: number; acked?: number };

/**
 * Stands in for the gateway: takes each event once, in order, and only with the number that is next, and forwards git.
 */
export type EventsGateway = {
  socket: string;
  events: SentEvent[];
  /** How many requests with events have come. */
  readonly batches: number;
  /** Looks at a batch before it is taken; an answer from here is given in its place. */
  intercept: ((events: SentEvent[]) => Answer | null) | null;
  /** Repository id to the URL at the git host. */
  git: Map<string, string>;
  close(): Promise<void>;
};

export async function startEventsGateway({
  socket,
  secret,
  events = [],
  keep = () => {},
}: {
  socket: string;
  secret: string;
  /** What was taken before. */
  events?: SentEvent[];
  /** Called before events are acknowledged. */
  keep?(events: SentEvent[]): void;
}): Promise<EventsGateway> {
  let batches = 0;
  const git = new Map<string, string>();
  const server = createServer(async (request, response) => {
    if (request.url?.startsWith('/git/')) return forwardGit(request, response);
    const { status, acked = lastNumber() } = answer(request, await buffer(request));
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ acked }));
  });
  rmSync(socket, { force: true });
  server.listen(socket);
  await once(server, 'listening');

  const gateway: EventsGateway = {
    socket,
    events,
    get batches() {
      return batches;
    },
    intercept: null,
    git,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return gateway;

  function forwardGit(request: IncomingMessage, response: ServerResponse): void {
    const [, , id = '', ...rest] = (request.url ?? '').split('/');
    const { authorization, host: _, ...headers } = request.headers;
    const url = git.get(id);
    if (authorization !== `Bearer ${secret}`) return void response.writeHead(401).end();
    if (!url) return void response.writeHead(404).end();
    const outgoing = httpRequest(
      `${url}/${rest.join('/')}`,
      { method: request.method, headers },
      (incoming) => {
        incoming.pipe(response.writeHead(incoming.statusCode ?? 502, incoming.headers));
      },
    );
    request.pipe(outgoing.on('error', () => response.destroy()));
  }

  function lastNumber(): number {
    return events.at(-1)?.seq ?? 0;
  }

  function answer({ method, url, headers }: IncomingMessage, body: Buffer): Answer {
    if (headers.authorization !== `Bearer ${secret}`) return { status: 401 };
    const path = `${method} ${url}`;
    if (path === 'GET /engine/state') return { status: 200 };
    if (path !== 'POST /engine/events') return { status: 404 };
    batches += 1;
    const { events: sent }: { events: SentEvent[] } = JSON.parse(body.toString());
    const intercepted = gateway.intercept?.(sent);
    if (intercepted) return intercepted;
    const fresh = sent.filter(({ seq }) => seq > lastNumber());
    if (fresh[0] && fresh[0].seq !== lastNumber() + 1) return { status: 409 };
    keep(fresh);
    events.push(...fresh);
    return { status: 200 };
  }
}
