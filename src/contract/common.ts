import { z } from 'zod';

/** UUID of any version; new rows get version 7, so that ids sort by time. */
export const id = z.guid('must be a UUID').toLowerCase().describe('UUID');

/** ISO 8601 in UTC with milliseconds. */
export const time = z.iso.datetime().describe('ISO 8601, UTC, milliseconds');

/**
 * Text that PostgreSQL can keep: no NUL and no lone surrogate, at most `max` characters.
 * Limits that are promised in bytes use `textOfBytes`.
 */
export const text = (max: number) =>
  z.string().max(max, `must be at most ${max} characters`).refine(isStorable, { error: unstorable });

/** Text that is not empty and not only white space. */
export const label = (max: number) =>
  text(max).refine((value) => value.trim() !== '', { error: 'must not be empty' });

/** Text of at most `max` bytes of UTF-8. */
export const textOfBytes = (max: number) =>
  z
    .string()
    .refine(isStorable, { error: unstorable })
    .refine((value) => Buffer.byteLength(value) <= max, {
      error: (issue) =>
        `must be at most ${max.toLocaleString('en')} bytes of UTF-8, this is ${Buffer.byteLength(String(issue.input)).toLocaleString('en')}`,
    })
    .meta({ 'x-max-bytes': max });

/** Any JSON as PostgreSQL can keep it, at most `max` characters of it. */
export function isStorableJson(value: unknown, max: number): boolean {
  const json = JSON.stringify(value);
  // Escaped in JSON: NUL, and a surrogate that stands alone.
  return json.length <= max && !/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(json);
}

export const success = z.object({ success: z.boolean() }).meta({ id: 'Success' });

/** `page` and `limit` of a list, as they stand in the query string. */
export const pageQuery = (defaultLimit: number) => ({
  page: whole(1, 1_000_000).default(1).describe('Page, from 1'),
  limit: whole(1, 100).default(defaultLimit).describe('Entries on a page, 1 to 100'),
});

function whole(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.coerce.number({ error }).int({ error }).min(min, { error }).max(max, { error });
}

const unstorable = 'must not contain NUL characters or lone surrogates';

function isStorable(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0');
}
