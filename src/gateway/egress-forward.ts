import { type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../contract/error.ts';

/** Headers that are about one connection, and those that are for the proxy alone. */
const ownHeaders = new Set([
  'connection',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

type Forwarding = {
  request: IncomingMessage;
  response: ServerResponse;
  /** Where the target is connected. */
  socket: Socket;
  /** The target as its Host header names it. */
  host: string;
  /** Path and query as they were sent. */
  path: string;
  idleMs: number;
  signal: AbortSignal;
};

/** Sends one plain request on and its answer back. */
export async function forwardRequest(forwarding: Forwarding): Promise<void> {
  const { request, response, socket, host, path, idleMs, signal } = forwarding;
  const outgoing = send({
    method: request.method,
    path,
    headers: ['host', host, ...passedOn(request), ...bodyHeaders(request)],
    createConnection: () => socket,
  });
  const onAbort = () => outgoing.destroy(new Error('the client went away'));
  signal.addEventListener('abort', onAbort, { once: true });
  outgoing.setTimeout(idleMs, () => outgoing.destroy(new Error('the server fell silent')));
  // Not a pipeline, which would close the connection that the answer goes to when the server breaks off.
  request.pipe(outgoing);
  try {
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve).on('error', reject);
    });
    response.writeHead(incoming.statusCode ?? 502, passedOn(incoming));
    await pipeline(incoming, response);
  } catch (error) {
    if (!signal.aborted && !response.headersSent) {
      throw new AppError('upstream_unavailable', `${host} gave no valid answer.`, null, error);
    }
    response.destroy();
  } finally {
    signal.removeEventListener('abort', onAbort);
    request.unpipe(outgoing);
    outgoing.destroy();
  }
}

/** Names and values in turn, as they came, without those that stay here. */
export function passedOn({ rawHeaders, headers }: Pick<IncomingMessage, 'rawHeaders' | 'headers'>): string[] {
  const named = (headers.connection ?? '').toLowerCase().split(',');
  const dropped = new Set([...ownHeaders, ...named.map((name) => name.trim())]);
  return rawHeaders.flatMap((name, index) =>
    index % 2 === 1 || dropped.has(name.toLowerCase()) ? [] : [name, rawHeaders[index + 1] ?? ''],
  );
}

function bodyHeaders({ headers }: IncomingMessage): string[] {
  return headers['transfer-encoding'] === undefined ? [] : ['transfer-encoding', 'chunked'];
}
