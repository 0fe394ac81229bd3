import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { AppError } from '../contract/error.ts';

/**
 * The body of a request, unpacked when it is packed, piece by piece. It ends with a refusal after `maxBytes`, so that
 * neither an endless body nor a small one that unfolds into a huge one is read to its end. The connection stays usable
 * for an answer.
 */
export async function* streamBody(
  request: IncomingMessage,
  { maxBytes }: { maxBytes: number },
): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of unpacked(request)) {
    size += chunk.length;
    if (size > maxBytes) {
      throw new AppError('payload_too_large', `The request body is larger than ${maxBytes} bytes.`);
    }
    yield chunk;
  }
}

async function* unpacked(request: IncomingMessage): AsyncGenerator<Buffer> {
  const encoding = request.headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding === 'identity') yield* chunks(request);
  else if (encoding === 'gzip' || encoding === 'x-gzip') yield* gunzipped(request);
  else throw new AppError('unsupported_media_type', 'The request body may be packed with gzip only.');
}

async function* gunzipped(request: IncomingMessage): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  const onClose = () => {
    if (!request.complete) gunzip.destroy(new Error('the client went away'));
  };
  request.once('close', onClose);
  request.pipe(gunzip);
  try {
    yield* chunks(gunzip);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code?.startsWith('Z_')) {
      throw new AppError('invalid_request', 'The request body is not valid gzip.', null, error);
    }
    throw error;
  } finally {
    request.off('close', onClose);
    request.unpipe(gunzip);
    gunzip.destroy();
  }
}

/** Leaving the loop early must not close the connection, which the answer needs. */
async function* chunks(stream: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) yield chunk as Buffer;
}
