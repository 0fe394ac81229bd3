import { engineLimits } from '../engine/limits.ts';
import { byteLength } from '../lib/text.ts';

/** The engine's own remarks, such as that the rest is not kept, come on top of what a hook has written. */
const MAX_BYTES = engineLimits.hookLogBytes + 4_096;
/** Each piece is a row; an engine makes at most twenty in a second. */
const MAX_PIECES = 100_000;

/** Those pieces of a hook's output that are kept besides what is kept already. */
export function fitOutput(
  texts: readonly string[],
  kept: { bytes: number; pieces: number },
): { texts: string[]; bytes: number } {
  const fitting: string[] = [];
  let bytes = 0;
  for (const text of texts) {
    const size = byteLength(text);
    if (kept.bytes + bytes + size > MAX_BYTES || kept.pieces + fitting.length >= MAX_PIECES) continue;
    fitting.push(text);
    bytes += size;
  }
  return { texts: fitting, bytes };
}
