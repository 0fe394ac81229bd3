import { byteLength } from '../lib/text.ts';

export type JsonRecord = Record<string, unknown>;

const MAX_DEPTH = 40;
/** How long single strings may be, tried one after the other until the whole is small enough. */
const STRING_LIMITS = [Infinity, 32_768, 4_096, 512, 64];
const MARK = '… [cut]';

/**
 * What an agent said, in at most `maxBytes` of JSON and not too deep. Long strings are cut first, because the shape is
 * what readers rely on; what is still too large keeps its type only.
 */
export function boundedJson(value: JsonRecord, maxBytes: number): JsonRecord {
  for (const stringLimit of STRING_LIMITS) {
    const bounded = bound(value, { stringLimit, depth: 0 }) as JsonRecord;
    if (byteLength(JSON.stringify(bounded)) <= maxBytes) return bounded;
  }
  const type = typeof value.type === 'string' ? { type: boundText(value.type, 100) } : {};
  return { ...type, truncated: true };
}

function bound(value: unknown, limits: { stringLimit: number; depth: number }): unknown {
  const { stringLimit, depth } = limits;
  if (typeof value === 'string') return boundText(value, stringLimit);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return MARK;
  const inner = { stringLimit, depth: depth + 1 };
  if (Array.isArray(value)) return value.map((one) => bound(one, inner));
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [boundText(key, stringLimit), bound(one, inner)]),
  );
}

/** A cut may go through the middle of a character, and half of one cannot be kept. */
function boundText(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit).toWellFormed()}${MARK}`;
}
