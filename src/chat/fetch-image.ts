import { type Dispatcher, request } from 'undici';
import type { TurnImage } from '../engine/protocol.ts';
import { guardedDispatcher, PrivateTargetError } from '../lib/address-guard.ts';

/** An image cannot be had; the message is a sentence for the user. */
export class ImageError extends Error {
  override name = 'ImageError';
}

/** All images of one message, in their order. */
export type FetchImages = (urls: readonly string[], signal: AbortSignal) => Promise<TurnImage[]>;

const MAX_BYTES = 10_000_000;
/** Of all images of a message together: providers and the engine take requests up to a size. */
const MAX_BYTES_TOGETHER = 20_000_000;
const LIMIT_MS = 20_000;
const MAX_REDIRECTS = 3;
const headers = {
  accept: 'image/png, image/jpeg, image/gif, image/webp',
  'user-agent': 'replica-service',
};

/** Fetches images that users name by address, from public hosts only unless the operator allows others. */
export function createFetchImages(options: { allowPrivateTargets: boolean; limitMs?: number }): FetchImages {
  const { allowPrivateTargets, limitMs = LIMIT_MS } = options;
  const dispatcher = guardedDispatcher({ allowPrivateTargets });

  return async function fetchImages(urls, signal) {
    const stopping = new AbortController();
    const room = { bytes: MAX_BYTES_TOGETHER };
    const limit = AbortSignal.any([signal, stopping.signal, AbortSignal.timeout(limitMs)]);
    try {
      return await Promise.all(urls.map((url) => fetchOne(url, limit, room)));
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      // One that cannot be had is enough: nobody waits for the others.
      stopping.abort();
    }
  };

  async function fetchOne(url: string, limit: AbortSignal, room: { bytes: number }): Promise<TurnImage> {
    try {
      const bytes = await readBounded(await open(url, limit), room);
      const mediaType = mediaTypeOf(bytes);
      if (mediaType === null) throw new ImageError('it is no PNG, JPEG, GIF or WebP image');
      return { mediaType, dataBase64: bytes.toString('base64') };
    } catch (error) {
      const reason =
        error instanceof ImageError
          ? error.message
          : limit.aborted
            ? `it took longer than ${limitMs / 1_000} seconds`
            : isPrivate(error)
              ? 'its host is not public'
              : 'its host could not be reached';
      throw new ImageError(`The image ${url} could not be fetched: ${reason}.`, { cause: error });
    }
  }

  /** The answer with the image, wherever the address leads. Every step is checked anew. */
  async function open(url: string, signal: AbortSignal): Promise<Dispatcher.ResponseData['body']> {
    let target = url;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const { statusCode, headers: said, body } = await request(target, { dispatcher, signal, headers });
      if (statusCode === 200) return body;
      body.once('error', () => {}).destroy();
      const next = typeof said.location === 'string' ? URL.parse(said.location, target) : null;
      if (statusCode < 300 || statusCode >= 400 || !next)
        throw new ImageError(`its host answered ${statusCode}`);
      if (!/^https?:$/.test(next.protocol)) break;
      target = next.href;
    }
    throw new ImageError('it leads elsewhere too often');
  }
}

async function readBounded(body: AsyncIterable<Buffer>, room: { bytes: number }): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    room.bytes -= chunk.length;
    if (size > MAX_BYTES) throw new ImageError(`it is larger than ${MAX_BYTES / 1_000_000} MB`);
    if (room.bytes < 0)
      throw new ImageError(`the images are larger than ${MAX_BYTES_TOGETHER / 1_000_000} MB together`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** By what it begins with: a host may call it anything. */
export function mediaTypeOf(bytes: Buffer): TurnImage['mediaType'] | null {
  const start = bytes.subarray(0, 12).toString('latin1');
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(start)) return 'image/gif';
  if (/^RIFF.{4}WEBP/s.test(start)) return 'image/webp';
  return null;
}

function isPrivate(error: unknown): boolean {
  return error instanceof PrivateTargetError || (error as Error).cause instanceof PrivateTargetError;
}
