import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type AppError, errorCodeHeader } from '../contract/error.ts';

/** The status of a refusal that a proxy gives instead of the server that is asked for. */
export const PROXY_UNAUTHENTICATED = 407;

type Refusal = { error: AppError; status: number };

/** Answers with the one error body. */
export function answerRefusal(response: ServerResponse, refusal: Refusal): void {
  if (isTooLate(response)) return;
  leaveUnreadBody(response);
  response.writeHead(refusal.status, headersOf(refusal)).end(bodyOf(refusal));
}

/** The same on a connection that carries no HTTP answer of Node's. */
export function answerRefusalOnSocket(socket: Duplex, refusal: Refusal): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const headers = Object.entries({ ...headersOf(refusal), connection: 'close' });
  const head = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? 'Refused'}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  socket.once('error', () => socket.destroy());
  // The other side may hold its half open for ever.
  socket.end(`${head.join('\r\n')}\r\n\r\n${bodyOf(refusal)}`, () => socket.destroy());
}

/** A sentence that git shows to whoever runs it. */
export function answerSentence(response: ServerResponse, status: number, sentence: string): void {
  if (isTooLate(response)) return;
  leaveUnreadBody(response);
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };
  response.writeHead(status, headers).end(`${sentence}\n`);
}

/** Aborts when the client goes away before it has its answer. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const onClose = () => {
    if (!response.writableFinished) gone.abort(new Error('the client went away'));
  };
  if (response.closed) onClose();
  else response.once('close', onClose);
  return gone.signal;
}

/** Lets a connection be silent while the work lasts, which has a bound of its own. */
export async function withoutIdleLimit<T>(request: IncomingMessage, work: () => Promise<T>): Promise<T> {
  const { socket } = request;
  const limitMs = socket.timeout ?? 0;
  socket.setTimeout(0);
  try {
    return await work();
  } finally {
    socket.setTimeout(limitMs);
  }
}

/** An answer that has begun can only be broken off, so that nobody takes it for a whole one. */
function isTooLate(response: ServerResponse): boolean {
  if (response.headersSent && !response.writableEnded) response.destroy();
  return response.headersSent || response.destroyed;
}

/** Node would read the rest of a body to the end, however long it is, to keep the connection. */
function leaveUnreadBody(response: ServerResponse): void {
  if (!response.req.complete) response.setHeader('connection', 'close');
}

function headersOf({ error, status }: Refusal): Record<string, string> {
  const ask = 'Basic realm="gateway"';
  return {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(bodyOf({ error, status }))),
    'cache-control': 'no-store',
    [errorCodeHeader]: error.code,
    ...(status === PROXY_UNAUTHENTICATED && { 'proxy-authenticate': ask }),
    ...(status === 401 && { 'www-authenticate': ask }),
  };
}

function bodyOf({ error }: Refusal): string {
  return JSON.stringify({ error: error.message, details: error.details });
}
