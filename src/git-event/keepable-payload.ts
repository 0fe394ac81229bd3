import { byteLength } from '../lib/text.ts';

const MAX_BYTES = 262_144;
const WHOLE: Measure = { characters: Number.POSITIVE_INFINITY, items: Number.POSITIVE_INFINITY };
/** How much of a long payload stays, tried one after the other. Addresses and commits are shorter than the least of them. */
const MEASURES: readonly Measure[] = [
  { characters: 16_384, items: 1_000 },
  { characters: 4_096, items: 200 },
  { characters: 1_024, items: 20 },
];

type Measure = {
  /** Of a string. */
  characters: number;
  /** Of a list or an object. */
  items: number;
};

/**
 * A payload as JSON that the database can keep: without NUL and halves of characters, and not too long. Long strings and
 * long lists lose their ends, since readers rely on the shape. Null when it is too long even so.
 */
export function keepablePayload(payload: unknown): string | null {
  const json = JSON.stringify(payload);
  const isLong = byteLength(json) > MAX_BYTES;
  if (!isLong && !mayBeUnstorable(json)) return json;
  for (const measure of isLong ? MEASURES : [WHOLE, ...MEASURES]) {
    const kept = JSON.stringify(cut(payload, measure));
    if (byteLength(kept) <= MAX_BYTES) return kept;
  }
  return null;
}

/** Both stand escaped in JSON; text that only looks like that is no harm. */
function mayBeUnstorable(json: string): boolean {
  return json.includes('\\u0000') || json.includes('\\ud');
}

function cut(value: unknown, measure: Measure): unknown {
  if (typeof value === 'string') return cutText(value, measure.characters);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.slice(0, measure.items).map((item) => cut(item, measure));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, measure.items * 10)
      .map(([key, item]) => [cutText(key, measure.characters), cut(item, measure)]),
  );
}

function cutText(text: string, characters: number): string {
  const kept = text.length > characters ? `${text.slice(0, characters)}…` : text;
  return kept.replaceAll('\0', '\u{fffd}').toWellFormed();
}
