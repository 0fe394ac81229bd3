/** One line of git's protocol, or null for the markers that end a list. */
export type Packet = Buffer | null;

/**
 * Takes git's protocol apart as it comes: four hexadecimal digits of length, then the line. It keeps one line at most,
 * which has less than 65,520 bytes; after something that is no line it is deaf.
 */
export function createPacketReader(onPacket: (packet: Packet) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let isLost = false;

  return function read(chunk) {
    if (isLost) return;
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (rest.length - at >= 4) {
      const digits = rest.toString('latin1', at, at + 4);
      const length = /^[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits, 16) : 3;
      if (length === 3) {
        isLost = true;
        rest = Buffer.alloc(0);
        return;
      }
      const end = at + Math.max(length, 4);
      if (rest.length < end) break;
      onPacket(length < 4 ? null : rest.subarray(at + 4, end));
      at = end;
    }
    // A copy, so that a few bytes do not keep a whole chunk.
    rest = Buffer.from(rest.subarray(at));
  };
}

export function writePacket(text: string): Buffer {
  const line = Buffer.from(text);
  return Buffer.concat([Buffer.from((line.length + 4).toString(16).padStart(4, '0')), line]);
}

export const flushPacket = Buffer.from('0000');
