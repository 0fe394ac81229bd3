import { isStorableText } from '../lib/text.ts';

/** Deeper than anything that a person would read. */
const MAX_DEPTH = 32;

type Source = { source?: string };

/**
 * What a call of a custom webhook says, as the database can keep it: its JSON, or its text as `raw`. Text that is no UTF-8
 * has replacement characters for what is wrong with it, and numbers that are too large to be exact stay as they were written.
 */
export function payloadOf(bytes: Buffer): unknown {
  const text = new TextDecoder().decode(bytes);
  if (text.trim() === '') return {};
  try {
    return toStorable(JSON.parse(text, keepExact), MAX_DEPTH);
  } catch {
    return { raw: storableText(text) };
  }
}

function keepExact(_key: string, value: unknown, context?: Source): unknown {
  if (typeof value !== 'number') return value;
  const isExact = Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  return isExact ? value : (context?.source ?? String(value));
}

/** Throws for what is nested too deeply. */
function toStorable(value: unknown, depthLeft: number): unknown {
  if (typeof value === 'string') return storableText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depthLeft === 0) throw new RangeError('nested too deeply');
  if (Array.isArray(value)) return value.map((each) => toStorable(each, depthLeft - 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [storableText(key), toStorable(each, depthLeft - 1)]),
  );
}

function storableText(text: string): string {
  return isStorableText(text) ? text : text.toWellFormed().replaceAll('\0', '\uFFFD');
}
