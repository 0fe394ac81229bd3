import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { EngineRefusal } from './refusal.ts';
import { PROTOCOL_HEADER, protocolVersions } from './version.ts';

export type Command = {
  /** What the path's pattern has found. */
  params: string[];
  query: URLSearchParams;
  /** The whole body, or a refusal when it is larger than the route takes. */
  body: Buffer;
};

export type CommandAnswer =
  | { status: number; json?: unknown }
  | { status: number; headers: Record<string, string>; stream: Readable };

export type Route = {
  method: string;
  pattern: RegExp;
  maxBytes?: number;
  answer(command: Command): CommandAnswer | Promise<CommandAnswer>;
};

const MAX_BODY_BYTES = 1_048_576;

/** Serves the control plane, which alone knows the secret. Whatever is wrong with a request is answered, not thrown. */
export function createEngineServer(options: {
  secret: string;
  routes: readonly Route[];
  openTunnel(socket: Duplex, head: Buffer, port: number): void;
  log(line: string): void;
}): Server {
  const { routes, openTunnel, log } = options;
  const expected = Buffer.from(`Bearer ${options.secret}`);
  const server = http.createServer((request, response) => {
    serve(request).then(
      (answer) => send(response, answer),
      (error) => send(response, refusal(error)),
    );
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    const port = Number(/^\/tunnel\/(\d{1,5})$/.exec(request.url ?? '')?.[1] ?? 0);
    if (!isAuthorized(request)) return refuseUpgrade(socket, '401 Unauthorized');
    if (request.method !== 'POST' || port < 1 || port > 65_535) return refuseUpgrade(socket, '404 Not Found');
    openTunnel(socket, head, port);
  });
  return server;

  async function serve(request: IncomingMessage): Promise<CommandAnswer> {
    if (!isAuthorized(request)) throw new EngineRefusal(401, 'The secret of the engine is missing or wrong.');
    const [path = '', query = ''] = (request.url ?? '').split('?', 2);
    const route = routes.find(({ method, pattern }) => method === request.method && pattern.test(path));
    if (!route) throw new EngineRefusal(404, `There is no command ${request.method} ${path.slice(0, 200)}.`);
    return route.answer({
      params: route.pattern.exec(path)?.slice(1) ?? [],
      query: new URLSearchParams(query),
      body: await readBody(request, route.maxBytes ?? MAX_BODY_BYTES),
    });
  }

  function isAuthorized({ headers }: IncomingMessage): boolean {
    return isSame(Buffer.from(headers.authorization ?? ''), expected);
  }

  function refusal(error: unknown): CommandAnswer {
    if (error instanceof EngineRefusal) return { status: error.status, json: { error: error.message } };
    log(`a command failed: ${error instanceof Error ? error.stack : error}`);
    return { status: 500, json: { error: 'The engine could not do it; its log says why.' } };
  }
}

function send(response: ServerResponse, answer: CommandAnswer): void {
  response.setHeader(PROTOCOL_HEADER, String(protocolVersions.newest));
  if ('stream' in answer) {
    const { stream } = answer;
    response.writeHead(answer.status, answer.headers);
    // Its first bytes may be long in coming, and the caller wants to know that it is there.
    response.flushHeaders();
    stream.on('error', () => response.destroy());
    response.on('close', () => stream.destroy());
    stream.pipe(response);
    return;
  }
  const body = answer.json === undefined ? '' : JSON.stringify(answer.json);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  response.writeHead(answer.status, answer.status === 204 ? {} : headers).end(body);
}

/** What is too large is read to its end and thrown away: who is still writing would not hear the refusal. */
async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes <= maxBytes) pieces.push(piece);
    else pieces.length = 0;
  }
  if (bytes > maxBytes) throw new EngineRefusal(413, `The body is larger than ${maxBytes} bytes.`);
  return Buffer.concat(pieces, bytes);
}

/** Takes as long for every wrong text. Node's own would load all of its cryptography for it. */
function isSame(given: Buffer, expected: Buffer): boolean {
  let difference = given.length ^ expected.length;
  for (const [index, byte] of expected.entries()) difference |= byte ^ (given[index] ?? 0);
  return difference === 0;
}

function refuseUpgrade(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}
