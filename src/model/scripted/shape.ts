import { RequestError } from './conversation.ts';

/**
 * Requests come from sandboxes and are long. They are read by hand, up to the first thing that is wrong: a schema would
 * look at every element and keep a complaint for each.
 */

export type JsonObject = Record<string, unknown>;

/** More than any conversation has, and few enough to be looked at one by one. */
const MAX_ELEMENTS = 50_000;
const MAX_NAME_CHARACTERS = 300;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function asObject(value: unknown, place: string): JsonObject {
  if (!isObject(value)) throw new RequestError(`${place} is not an object`);
  return value;
}

export function asList(value: unknown, place: string): unknown[] {
  if (!Array.isArray(value)) throw new RequestError(`${place} is not a list`);
  if (value.length > MAX_ELEMENTS) throw new RequestError(`${place} has more than ${MAX_ELEMENTS} elements`);
  return value;
}

export function asName(value: unknown, place: string): string {
  if (typeof value !== 'string' || value.length > MAX_NAME_CHARACTERS)
    throw new RequestError(`${place} is not a text of at most ${MAX_NAME_CHARACTERS} characters`);
  return value;
}

/** In each API a content is a text or a list of parts, of which some are texts. */
export function textsOf(content: unknown): string[] {
  if (typeof content === 'string') return [content];
  if (!Array.isArray(content)) return [];
  const parts: unknown[] = content.slice(0, MAX_ELEMENTS);
  return parts.flatMap((part) => (isObject(part) && typeof part.text === 'string' ? part.text : []));
}
