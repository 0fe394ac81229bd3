import { z } from 'zod';
import { truncateBytes } from '../lib/text.ts';
import type { GitEvent, Remark } from './event.ts';

/** What an event says besides what it is. */
export type EventReading = Omit<GitEvent, 'kind' | 'triggers'>;

/** Reads the payload of one sort of event; null when it lacks what such an event has. */
export type ReadEvent = (payload: unknown) => EventReading | null;

/** Hosts allow longer comments than an agent has use for. */
const TEXT_BYTES = 10_000;
const NAME_BYTES = 200;
const NOTHING: EventReading = {
  actor: null,
  pullRequest: null,
  numbers: [],
  commit: null,
  branch: null,
  remark: null,
  comment: null,
};

export const longText = z.string().transform((value) => truncateBytes(value, TEXT_BYTES));
/** Of a check, a file or a person. */
export const shortName = z.string().transform((value) => truncateBytes(value, NAME_BYTES));
export const commit = z.string().regex(/^[0-9a-f]{40,64}$/);
export const branchName = z.string().min(1).max(1_000);

/** Makes a reader out of the fields it needs and what they mean; what is not said of an event is nothing. */
export function reader<Schema extends z.ZodType>(
  schema: Schema,
  read: (fields: z.output<Schema>) => Partial<EventReading>,
): ReadEvent {
  return (payload) => {
    const { success, data } = schema.safeParse(payload);
    return success ? { ...NOTHING, ...read(data) } : null;
  };
}

/** What stands at a place of a payload that may lack it. */
export function at(payload: unknown, ...path: string[]): unknown {
  let value = payload;
  for (const key of path)
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? Reflect.get(value, key)
        : null;
  return value;
}

/** The text that stands at a place of a payload; empty when there is none, or something else. */
export function textAt(payload: unknown, ...path: string[]): string {
  const value = at(payload, ...path);
  return typeof value === 'string' ? value : '';
}

/** The name of a branch; null when the reference is none. */
export function branchOf(ref: string): string | null {
  return /^refs\/heads\/(.+)$/s.exec(ref)?.[1] ?? null;
}

/** That a check has failed on a commit, said once however many events say so. */
export function failure(check: {
  name: string;
  commit: string;
  details: string;
  url: string | null;
}): Remark {
  const { name, commit: on, details, url } = check;
  const text = `${name} has failed on commit ${on}.${details === '' ? '' : `\n\n${details}`}`;
  return { kind: 'check', key: `${name}@${on}`, text, url };
}

/** What somebody has written: who and where in one line, and their words. */
export function said(words: {
  kind: 'review' | 'comment';
  intro: string;
  body: string;
  url: string;
}): Remark {
  const { kind, intro, body, url } = words;
  return { kind, key: url, text: body === '' ? `${intro}.` : `${intro}:\n\n${body}`, url };
}
