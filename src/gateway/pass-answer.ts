import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { TokenUsage } from '../model/usage.ts';
import { createUsageReader } from '../model/usage-reader.ts';

type Answer = {
  status: number;
  headers: Record<string, string>;
  body: AsyncIterable<Buffer | string>;
};

/**
 * Passes a model's answer on as it comes, and reads off it what it has used; that is known also of an answer that is broken
 * off. One that breaks off by itself is broken off for the agent too.
 */
export async function passAnswer(
  response: ServerResponse,
  { status, headers, body }: Answer,
  signal: AbortSignal,
): Promise<TokenUsage | null> {
  const isStream = headers['content-type']?.startsWith('text/event-stream') ?? false;
  const reader = createUsageReader({ isStream });
  response.writeHead(status, headers);
  response.flushHeaders();
  try {
    await pipeline(body, passing(response, reader), { signal });
    response.end();
  } catch {
    response.destroy();
  }
  return status < 300 ? reader.end() : null;
}

/** Whatever is read is written before more is read, so that a slow agent slows its provider down and fills no memory. */
function passing(response: ServerResponse, reader: { read(chunk: Buffer): void }): Writable {
  return new Writable({
    decodeStrings: true,
    write(chunk: Buffer, _encoding, done) {
      reader.read(chunk);
      if (response.write(chunk) || response.destroyed) done();
      else waitForRoom(response, done);
    },
  });
}

function waitForRoom(response: ServerResponse, done: () => void): void {
  const goOn = () => {
    response.off('drain', goOn).off('close', goOn);
    done();
  };
  response.once('drain', goOn).once('close', goOn);
}
