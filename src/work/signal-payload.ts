/** The topic that stands for all of them. */
export const EVERYTHING = '*';

/** PostgreSQL takes less than 8,000 bytes. */
export const MAX_PAYLOAD_BYTES = 7_900;

export type Hint = { from: string; topics: string[] };

/** As few payloads as hold all topics. One that fits in none is replaced by the hint to look at everything. */
export function packTopics(from: string, topics: readonly string[]): string[] {
  const roomBytes = MAX_PAYLOAD_BYTES - bytesOf({ from, topics: [] });
  const batches: string[][] = [];
  let leftBytes = 0;
  for (const topic of topics) {
    const bytes = bytesOf(topic) + 1;
    if (bytes > roomBytes) return packTopics(from, [EVERYTHING]);
    if (bytes > leftBytes) {
      batches.push([]);
      leftBytes = roomBytes;
    }
    batches.at(-1)?.push(topic);
    leftBytes -= bytes;
  }
  return batches.map((batch) => JSON.stringify({ from, topics: batch } satisfies Hint));
}

/** What another process has sent; null when it is not one of ours. */
export function parseHint(payload: string): Hint | null {
  try {
    const { from, topics } = JSON.parse(payload) as Partial<Record<keyof Hint, unknown>>;
    if (typeof from !== 'string' || !Array.isArray(topics)) return null;
    return { from, topics: topics.filter((topic) => typeof topic === 'string') };
  } catch {
    return null;
  }
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
