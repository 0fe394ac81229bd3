import type { IncomingMessage } from 'node:http';
import { AppError } from '../contract/error.ts';

/** The body is longer than what is taken here. */
export class TooLargeError extends Error {
  override name = 'TooLargeError';
}

/** Bodies come over a socket of this machine, so that one which takes longer is held back on purpose. */
const READ_LIMIT_MS = 20_000;

/**
 * Reads a body of at most `maxBytes`; what announces itself as longer is refused before it is read. Whoever takes too
 * long loses the connection, since there may be others who wait for the room.
 */
export async function readBody(
  request: IncomingMessage,
  { maxBytes, limitMs = READ_LIMIT_MS }: { maxBytes: number; limitMs?: number },
): Promise<Buffer> {
  const refusal = () => new TooLargeError(`The body is larger than ${maxBytes} bytes.`);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw refusal();
  const late = new AppError('request_timeout', `The body took longer than ${limitMs} ms to arrive.`);
  const timer = setTimeout(() => request.destroy(late), limitMs);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // Whoever is refused gets the refusal: the connection stays open for it.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw refusal();
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    clearTimeout(timer);
  }
}
