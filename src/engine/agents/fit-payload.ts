import type { JsonObject } from './agent.ts';

/** A copy with shorter texts, if need be, so that its JSON has at most so many bytes; and with texts that can be stored. */
export function fitPayload(payload: JsonObject, maxBytes: number): JsonObject {
  for (const maxCharacters of [Number.POSITIVE_INFINITY, 100_000, 10_000, 1_000, 100]) {
    const fitted = shorten(payload, { maxCharacters, depth: 0 }) as JsonObject;
    if (Buffer.byteLength(JSON.stringify(fitted)) <= maxBytes) return fitted;
  }
  return { isTooLarge: true };
}

type Limits = { maxCharacters: number; depth: number };

function shorten(value: unknown, { maxCharacters, depth }: Limits): unknown {
  if (typeof value === 'string') return shortenText(value, maxCharacters);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === maxDepth) return null;
  const below = { maxCharacters, depth: depth + 1 };
  if (Array.isArray(value)) return value.map((item) => shorten(item, below));
  const entries = Object.entries(value).map(([key, item]) => [shortenText(key, 1_000), shorten(item, below)]);
  return Object.fromEntries(entries);
}

const maxDepth = 100;

/** PostgreSQL stores neither NUL nor half a character. */
function shortenText(text: string, maxCharacters: number): string {
  const cut = text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
  return cut.toWellFormed().replaceAll('\0', '\uFFFD');
}
