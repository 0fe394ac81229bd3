import type { IncomingMessage } from 'node:http';
import { AppError } from '../contract/error.ts';
import { TooLargeError } from './read-body.ts';

/** As large as the largest request any of the providers takes. */
export const MAX_MODEL_BODY_BYTES = 32 * 1_048_576;
/** Bodies come over a socket of this machine, so that one which takes longer is held back on purpose. */
const ARRIVAL_LIMIT_MS = 120_000;

/** The body of a request as it comes: it is passed on without ever being in memory as a whole. */
export async function* streamModelBody(
  request: IncomingMessage,
  { maxBytes = MAX_MODEL_BODY_BYTES, limitMs = ARRIVAL_LIMIT_MS } = {},
): AsyncGenerator<Buffer> {
  refuseAnnounced(request, maxBytes);
  const late = new AppError('request_timeout', `The body took longer than ${limitMs} ms to arrive.`);
  const timer = setTimeout(() => request.destroy(late), limitMs);
  let size = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      yield chunk;
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Reads a body that nobody wants: agents see an answer only once they have sent everything. */
export async function discardModelBody(request: IncomingMessage): Promise<void> {
  for await (const _ of streamModelBody(request));
}

/** A body that says itself that it is too large is refused before anything is done for it. */
export function refuseAnnounced(request: IncomingMessage, maxBytes = MAX_MODEL_BODY_BYTES): void {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
}

function tooLarge(maxBytes: number): TooLargeError {
  return new TooLargeError(`The body is larger than ${maxBytes} bytes.`);
}
