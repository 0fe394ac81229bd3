import { request } from 'node:http';
import type { Duplex } from 'node:stream';

/** The engine cannot be reached, or broke off: whether it took the command is unknown. */
export class EngineUnreachableError extends Error {
  override name = 'EngineUnreachableError';
}

export type EngineCommand = { method: string; path: string; body?: unknown };
export type EngineAnswer = { status: number; body: unknown };

type Call = EngineCommand & {
  connect: (signal: AbortSignal) => Promise<Duplex>;
  secret: string;
  signal: AbortSignal;
};

/** What an engine may answer with at most; larger things travel over the gateway. */
const MAX_ANSWER_BYTES = 1_048_576;

/** Sends one command over a connection of its own. The answer is JSON from a sandbox: whoever uses it parses it. */
export async function callEngine({
  connect,
  secret,
  signal,
  method,
  path,
  body,
}: Call): Promise<EngineAnswer> {
  const connection = await connect(signal).catch((cause: unknown) => {
    throw new EngineUnreachableError('The engine cannot be reached.', { cause });
  });
  try {
    return await exchange(connection, { secret, signal, method, path, body });
  } finally {
    connection.destroy();
  }
}

function exchange(connection: Duplex, call: Omit<Call, 'connect'>): Promise<EngineAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<EngineAnswer>();
  const bytes = call.body === undefined ? null : Buffer.from(JSON.stringify(call.body));
  const outgoing = request({
    method: call.method,
    path: call.path,
    host: 'engine',
    createConnection: () => connection,
    signal: call.signal,
    headers: {
      authorization: `Bearer ${call.secret}`,
      ...(bytes && { 'content-type': 'application/json', 'content-length': bytes.length }),
    },
  });
  const fail = (cause: unknown) => reject(new EngineUnreachableError('The engine broke off.', { cause }));
  outgoing.on('error', fail);
  outgoing.on('response', (incoming) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on('error', fail);
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_ANSWER_BYTES) outgoing.destroy(new Error('The answer is too large.'));
      else chunks.push(chunk);
    });
    incoming.on('end', () => {
      resolve({ status: incoming.statusCode ?? 0, body: parse(Buffer.concat(chunks)) });
    });
  });
  outgoing.end(bytes);
  return promise;
}

function parse(bytes: Buffer): unknown {
  if (bytes.length === 0) return null;
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return null;
  }
}
