import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import type { GatewayAnswer, GatewayClient, GatewayRequest } from './context.ts';
import { PROTOCOL_HEADER, protocolVersions } from './version.ts';

/** An answer is kept whole in memory; the largest is a repository's kept work. */
const MAX_ANSWER_BYTES = 80 * 1_048_576;

/** Requests over the gateway's socket, several at once, on connections that are kept. */
export function createGatewayClient({
  socket,
  secret,
}: {
  socket: string;
  secret: string;
}): GatewayClient & { close(): void } {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 8, maxFreeSockets: 1 });

  return {
    async request(request) {
      try {
        return await attempt(request);
      } catch (error) {
        // The gateway may close a kept connection at the moment it is used again; every request may be repeated.
        if (!(error instanceof StaleConnectionError) || isStream(request.body)) throw error;
        return attempt(request);
      }
    },
    close: () => agent.destroy(),
  };

  function attempt({ method, path, headers, body, signal }: GatewayRequest): Promise<GatewayAnswer> {
    return new Promise((resolve, reject) => {
      const options: http.RequestOptions & { servername: string } = {
        socketPath: socket,
        agent,
        // There is no TLS here; working out a server name for it would cost the start 5 ms.
        servername: '',
        method,
        path,
        headers: {
          host: 'gateway',
          authorization: `Bearer ${secret}`,
          [PROTOCOL_HEADER]: String(protocolVersions.newest),
          ...(isStream(body) ? {} : { 'content-length': String(body?.length ?? 0) }),
          ...headers,
        },
        ...(signal ? { signal } : {}),
      };
      const request = http.request(options);
      request.on('error', (error: NodeJS.ErrnoException) => {
        const isStale = request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
        reject(isStale ? new StaleConnectionError('', { cause: error }) : error);
      });
      request.on('response', (response) => readAnswer(response).then(resolve, reject));
      sendBody(request, body);
    });
  }
}

class StaleConnectionError extends Error {
  override name = 'StaleConnectionError';
}

function isStream(body: GatewayRequest['body']): body is NodeJS.ReadableStream {
  return body !== undefined && !Buffer.isBuffer(body);
}

function sendBody(request: ClientRequest, body: GatewayRequest['body']): void {
  if (!isStream(body)) {
    request.end(body);
    return;
  }
  body.on('error', (error: Error) => request.destroy(error));
  request.on('close', () => 'destroy' in body && typeof body.destroy === 'function' && body.destroy());
  body.pipe(request);
}

async function readAnswer(response: IncomingMessage): Promise<GatewayAnswer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MAX_ANSWER_BYTES)
      throw new Error(`the gateway's answer is larger than ${MAX_ANSWER_BYTES} bytes`);
    pieces.push(piece);
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return { status: response.statusCode ?? 0, headers, body: Buffer.concat(pieces, bytes) };
}
