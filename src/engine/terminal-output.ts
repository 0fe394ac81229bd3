import { Readable } from 'node:stream';
import { createByteRing } from './byte-ring.ts';

export type TerminalOutput = {
  /** What was written from an offset on, as far as it is kept, and everything that follows until the end. */
  stream(offset: number): { offset: number; stream: Readable };
  /** Ends all streams after what is there. */
  end(): void;
};

type Reader = { stream: Readable; position: number; wantsMore: boolean; isStalled: boolean };

/**
 * Hands what a terminal writes to any number of readers. The program waits for readers that are slow, as it does for
 * any terminal; one that takes nothing for a while is cut off, and may come back with the offset it got to. Nobody has
 * a buffer of their own, so that memory does not depend on them.
 */
export function followOutput(source: Readable, { maxBytes }: { maxBytes: number }): TerminalOutput {
  const ring = createByteRing(maxBytes);
  const readers = new Set<Reader>();
  let isEnded = false;
  let stallTimer: NodeJS.Timeout | null = null;

  function pump(reader: Reader): void {
    while (reader.wantsMore && reader.position < ring.end()) {
      const piece = ring.read(reader.position, pieceBytes);
      reader.position += piece.length;
      reader.isStalled = false;
      reader.wantsMore = reader.stream.push(piece);
    }
    if (isEnded && reader.position === ring.end()) {
      readers.delete(reader);
      reader.stream.push(null);
    }
  }

  /** Holds the program up while somebody is half the ring behind, so that nothing they miss is overwritten. */
  function balance(): void {
    const behind = [...readers].filter(({ position }) => ring.end() - position > maxBytes / 2);
    if (behind.length === 0) {
      if (stallTimer) clearTimeout(stallTimer);
      stallTimer = null;
      source.resume();
      return;
    }
    source.pause();
    if (stallTimer !== null) return;
    for (const reader of behind) reader.isStalled = true;
    stallTimer = setTimeout(() => {
      stallTimer = null;
      for (const reader of behind) if (reader.isStalled) cut(reader);
      balance();
    }, stallMs);
  }

  function cut(reader: Reader): void {
    readers.delete(reader);
    reader.stream.destroy(new Error('the reader of the terminal is too slow'));
  }

  source.on('data', (chunk: Buffer) => {
    ring.append(chunk);
    for (const reader of readers) pump(reader);
    balance();
  });

  return {
    stream(offset) {
      const position = Math.min(Math.max(offset, ring.start()), ring.end());
      const reader: Reader = {
        position,
        wantsMore: false,
        isStalled: false,
        stream: new Readable({
          read() {
            reader.wantsMore = true;
            pump(reader);
            balance();
          },
          destroy(error, done) {
            readers.delete(reader);
            balance();
            done(error);
          },
        }),
      };
      readers.add(reader);
      return { offset: position, stream: reader.stream };
    },
    end() {
      isEnded = true;
      for (const reader of readers) pump(reader);
      balance();
    },
  };
}

const pieceBytes = 32_768;
const stallMs = 2_000;
