import type { JsonObject } from './agent.ts';

/**
 * The objects that a program writes, one to a line. Lines that hold none, such as remarks for people, are passed over; a
 * line that is longer than the bound is dropped, and said to be, without ever being held as a whole.
 */
export async function* readJsonLines(
  stream: AsyncIterable<Buffer>,
  { maxBytes, dropped }: { maxBytes: number; dropped(bytes: number): void },
): AsyncGenerator<JsonObject> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      take(chunk.subarray(from, end));
      from = end + 1;
      const message = finish();
      if (message !== null) yield message;
    }
    take(chunk.subarray(from));
  }
  const last = finish();
  if (last !== null) yield last;

  function take(piece: Buffer): void {
    bytes += piece.length;
    if (bytes > maxBytes) parts = [];
    else parts.push(piece);
  }

  function finish(): JsonObject | null {
    const line = bytes > maxBytes ? null : Buffer.concat(parts).toString();
    if (line === null) dropped(bytes);
    parts = [];
    bytes = 0;
    return line === null ? null : parseObject(line);
  }
}

const NEWLINE = 0x0a;

function parseObject(line: string): JsonObject | null {
  if (!line.trimStart().startsWith('{')) return null;
  try {
    return JSON.parse(line) as JsonObject;
  } catch {
    return null;
  }
}
