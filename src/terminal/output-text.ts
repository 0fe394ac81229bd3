/** Cuts a stream of bytes where characters end, so that a piece that ends within one is not shown broken. */
export function createTextCutter() {
  let held: Buffer = Buffer.alloc(0);
  return {
    /** The bytes of whole characters; what may still become one is held back for the next piece. */
    take(piece: Buffer): Buffer {
      const bytes = held.length > 0 ? Buffer.concat([held, piece]) : piece;
      const whole = bytes.length - unfinished(bytes);
      held = Buffer.from(bytes.subarray(whole));
      return bytes.subarray(0, whole);
    },
    /** What is left at the end. */
    rest: () => held,
  };
}

/** How many bytes at the end are the beginning of a character. */
function unfinished(bytes: Buffer): number {
  for (let count = 1; count <= Math.min(3, bytes.length); count++) {
    const byte = bytes[bytes.length - count] ?? 0;
    const isContinuation = (byte & 0xc0) === 0x80;
    if (!isContinuation) return lengthOf(byte) > count ? count : 0;
  }
  return 0;
}

/** How long a character is that begins with this byte. */
function lengthOf(first: number): number {
  if (first >= 0xf0 && first < 0xf8) return 4;
  if (first >= 0xe0) return first < 0xf0 ? 3 : 1;
  return first >= 0xc0 ? 2 : 1;
}
