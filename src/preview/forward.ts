import { type ClientRequest, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../contract/error.ts';

/** What a program may answer with at most before its body. */
export const MAX_HEADER_BYTES = 32_768;

export type Forwarding = {
  request: IncomingMessage;
  /** The connection to the program, which is closed afterwards. */
  connection: Duplex;
  path: string;
  /** For the program, names and values in turn. */
  headers: string[];
  /** What of the program's headers is passed on. */
  headersOf: (answer: IncomingMessage) => string[];
  /** Aborted when the caller is gone or the service stops. */
  signal: AbortSignal;
};

/**
 * Sends a request on to a program and its answer back, piece by piece and no faster than either side takes it. `begin`
 * is called when there is an answer; what goes wrong earlier is thrown, and later breaks the connection off.
 */
export async function forward(forwarding: Forwarding & { begin: () => ServerResponse }): Promise<void> {
  const { request, connection, path, headers, signal } = forwarding;
  const outgoing = send({
    method: request.method,
    path,
    headers,
    createConnection: () => connection,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  const stop = () => outgoing.destroy(new Error('the caller is gone'));
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  // Not a pipeline, which would close the connection that the answer goes to when the program breaks off.
  request.pipe(outgoing);
  let response: ServerResponse | null = null;
  try {
    const incoming = await answerTo(outgoing);
    const status = incoming.statusCode ?? 0;
    const passed = forwarding.headersOf(incoming);
    response = forwarding.begin();
    // Node would read the rest of a body to its end, however long it is, to keep the connection.
    response.writeHead(status, [...passed, ...(request.complete ? [] : ['connection', 'close'])]);
    // The first piece of a stream may be long in coming.
    response.flushHeaders();
    await pipeline(incoming, response);
  } catch (error) {
    if (!response) throw new AppError('upstream_unavailable', gaveNoAnswer, null, error);
    response.destroy();
  } finally {
    signal.removeEventListener('abort', stop);
    request.unpipe(outgoing);
    outgoing.destroy();
  }
}

function answerTo(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.on('error', reject);
    outgoing.once('upgrade', () => reject(new Error('it speaks another protocol unasked')));
    outgoing.once('response', (incoming) => {
      const status = incoming.statusCode ?? 0;
      if (status >= 200 && status <= 999) resolve(incoming);
      else reject(new Error(`it answers with the status ${status}`));
    });
  });
}

export const gaveNoAnswer = 'The program behind the preview gave no valid answer.';
