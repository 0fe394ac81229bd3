import { cutAtLine } from './diff-text.ts';
import { engineLimits } from './limits.ts';
import type { RepositoryState } from './protocol.ts';

/** Cuts the longest diffs until all states together fit into so many bytes of JSON, as one event must. */
export function fitStates(
  states: readonly RepositoryState[],
  maxBytes: number = engineLimits.eventBytes - 1_000,
): RepositoryState[] {
  const sizes = states.map(({ diff }) => jsonBytes(diff));
  const rest = jsonBytes(states) - sizes.reduce((total, size) => total + size, 0);
  const share = fairShare(sizes, Math.max(0, maxBytes - rest));
  return states.map((state, index) =>
    (sizes[index] ?? 0) <= share ? state : { ...state, diff: fitDiff(state.diff, share), isDiffCut: true },
  );
}

/** The size to which the large ones are cut so that the small ones may stay whole. */
function fairShare(sizes: number[], total: number): number {
  const sorted = sizes.toSorted((a, b) => a - b);
  let left = total;
  for (const [index, size] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index));
    if (size > share) return share;
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}

/** Characters take one to six bytes of JSON, so the right place to cut is approached in steps. */
function fitDiff(diff: string, maxBytes: number): string {
  let fitted = diff;
  for (let size = jsonBytes(fitted); size > maxBytes && fitted !== ''; size = jsonBytes(fitted)) {
    fitted = cutAtLine(fitted, Math.floor(fitted.length * Math.min(0.99, maxBytes / size)));
  }
  return fitted;
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
