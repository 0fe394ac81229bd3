import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';

export type StandInRequest = {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
};

/** Stands in for the gateway: keeps shadows and canvas items in memory and forwards git to URLs it was told. */
export type GatewayStandIn = {
  socket: string;
  /** Repository id to the URL at the git host. */
  git: Map<string, string>;
  shadows: Map<string, StandInRequest>;
  /** Items by name; null for one that is listed by its size alone. */
  canvas: Map<string, { body: Buffer | null; sizeBytes: number }>;
  requests: StandInRequest[];
  /** Answers the next so many requests with this status. */
  fail(options: { times: number; status: number }): void;
  close(): Promise<void>;
};

export async function startGatewayStandIn({
  folder,
  secret,
}: {
  folder: string;
  secret: string;
}): Promise<GatewayStandIn> {
  const socket = join(folder, 'gateway.sock');
  const trouble = { times: 0, status: 503 };
  const git: GatewayStandIn['git'] = new Map();
  const shadows: GatewayStandIn['shadows'] = new Map();
  const canvas: GatewayStandIn['canvas'] = new Map();
  const requests: StandInRequest[] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/';
    if (request.headers.authorization !== `Bearer ${secret}`) return void response.writeHead(401).end();
    if (trouble.times > 0) {
      trouble.times -= 1;
      request.resume();
      return void response.writeHead(trouble.status).end();
    }
    const [, area = '', second = '', third = ''] = path.split(/[/?]/);
    if (area === 'git')
      return forward({ request, response, url: git.get(second), rest: path.slice(`/git/${second}`.length) });
    const { method = '', headers } = request;
    const taken = { method, path, headers, body: await buffer(request) };
    requests.push(taken);
    const kind = `${method} ${second}`;
    if (kind === 'PUT shadow') shadows.set(third, taken);
    else if (kind === 'PUT canvas') canvas.set(decodeURIComponent(third), canvasItem(taken));
    else if (kind === 'DELETE canvas') canvas.delete(decodeURIComponent(third));
    else if (kind === 'GET shadow') return answerShadow(response, shadows.get(third));
    response.writeHead(204).end();
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(socket);
  await once(server, 'listening');
  return {
    socket,
    git,
    shadows,
    canvas,
    requests,
    fail: (options) => void Object.assign(trouble, options),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function canvasItem({ headers, body }: StandInRequest): { body: Buffer | null; sizeBytes: number } {
  const size = headers['x-size-bytes'];
  if (size !== undefined) return { body: null, sizeBytes: Number(size) };
  return { body, sizeBytes: body.length };
}

function answerShadow(response: ServerResponse, kept: StandInRequest | undefined): void {
  if (kept === undefined) return void response.writeHead(404).end();
  const names = ['x-base-commit', 'x-head-commit', 'x-shadow-commit', 'x-branch'];
  const headers = names.flatMap((name) =>
    kept.headers[name] === undefined ? [] : [[name, kept.headers[name]]],
  );
  response.writeHead(200, Object.fromEntries(headers)).end(kept.body);
}

function forward(options: {
  request: IncomingMessage;
  response: ServerResponse;
  url: string | undefined;
  rest: string;
}): void {
  const { request, response, url, rest } = options;
  if (url === undefined) return void response.writeHead(404).end();
  const { authorization: _secret, host: _host, ...headers } = request.headers;
  const target = new URL(url);
  const outgoing = httpRequest(
    `${target.origin}${target.pathname}${rest}`,
    {
      method: request.method,
      headers,
      ...(target.username && { auth: `${target.username}:${target.password}` }),
    },
    (incoming) => {
      response.writeHead(incoming.statusCode ?? 502, incoming.headers);
      incoming.pipe(response);
    },
  );
  outgoing.on('error', () => response.writeHead(502).end());
  request.pipe(outgoing);
}
