import type { ServerResponse } from 'node:http';

export type PacedWriter = {
  /** Ends when the caller has taken enough for more to be sent, or when `over` is aborted. */
  write(text: string): Promise<void>;
  close(): void;
};

/** Texts are written in pieces of this size, so that a caller who is slow with a large one is seen to take it. */
const PIECE_BYTES = 65_536;

/** Writes events no faster than they are read, and comments while there are none, so that nobody hangs up. */
export function createPacedWriter(
  raw: ServerResponse,
  options: { pingEveryMs: number; takeWithinMs: number; over: AbortSignal; onSlow: () => void },
): PacedWriter {
  const { over } = options;
  let isWriting = false;
  const pings = setInterval(() => {
    if (!isWriting && !raw.writableNeedDrain) raw.write(': ping\n\n');
  }, options.pingEveryMs);

  async function taken(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const late = setTimeout(options.onSlow, options.takeWithinMs);
    const stop = () => resolve();
    raw.once('drain', stop);
    over.addEventListener('abort', stop);
    await promise;
    clearTimeout(late);
    raw.off('drain', stop);
    over.removeEventListener('abort', stop);
  }

  return {
    async write(text) {
      isWriting = true;
      for (const piece of piecesOf(text)) {
        if (!over.aborted && !raw.write(piece)) await taken();
      }
      isWriting = false;
    },
    close: () => clearInterval(pings),
  };
}

function* piecesOf(text: string): Generator<string | Buffer> {
  if (text.length <= PIECE_BYTES) return yield text;
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
    yield bytes.subarray(start, start + PIECE_BYTES);
  }
}
