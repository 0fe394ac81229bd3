/** The last bytes of a stream, under the offsets they have in it. */
export type ByteRing = {
  /** The offset of the first byte that is kept. */
  start(): number;
  /** The offset the next byte will have. */
  end(): number;
  append(chunk: Buffer): void;
  /** A copy of at most so many bytes from an offset that is kept. */
  read(offset: number, maxBytes: number): Buffer;
};

/** One buffer of a fixed size: a program that writes byte by byte must not cost more than one that writes much. */
export function createByteRing(maxBytes: number): ByteRing {
  const bytes = Buffer.alloc(maxBytes);
  let end = 0;
  const start = () => Math.max(0, end - maxBytes);

  function copyIn(chunk: Buffer): void {
    const at = end % maxBytes;
    const copied = chunk.copy(bytes, at);
    chunk.copy(bytes, 0, copied);
    end += chunk.length;
  }

  return {
    start,
    end: () => end,
    append(chunk) {
      for (let done = 0; done < chunk.length; done += maxBytes) copyIn(chunk.subarray(done, done + maxBytes));
    },
    read(offset, count) {
      const from = Math.max(offset, start());
      const length = Math.max(0, Math.min(count, end - from));
      const at = from % maxBytes;
      const first = bytes.subarray(at, at + length);
      return Buffer.concat([first, bytes.subarray(0, length - first.length)], length);
    },
  };
}
