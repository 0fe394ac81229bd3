import type { z } from 'zod';
import { AppError, notFound } from '../contract/error.ts';
import type { Operation } from '../contract/operation.ts';

type Raw = { params: unknown; query: unknown; headers: unknown; body: unknown };

/** An id that no row has. */
const ABSENT_ID = '00000000-0000-0000-0000-000000000000';

/** Parses what came over the wire with the operation's schemas, or refuses it. */
export function parseInput(operation: Operation, raw: Raw) {
  return {
    params: operation.params && parseParams(operation.params, raw.params as object),
    query: parsePart('query', operation.query, raw.query),
    headers: parsePart('headers', operation.headers, raw.headers),
    body: parsePart('body', operation.body, raw.body),
  };
}

/** Text that is no id is read as an id that never was, so that both get the same answer. */
function parseParams(schema: z.ZodObject, raw: object): unknown {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map((issue) => [String(issue.path[0]), ABSENT_ID]);
  const absent = schema.safeParse({ ...raw, ...Object.fromEntries(wrong) });
  if (!absent.success) throw notFound('Resource');
  return absent.data;
}

function parsePart(part: keyof typeof refusalOf, schema: z.ZodType | undefined, value: unknown): unknown {
  if (!schema) return undefined;
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues
    .slice(0, 10)
    .map((issue) => `${fieldName(part, issue.path)}: ${issue.message}`);
  throw new AppError('invalid_request', `${refusalOf[part]}: ${problems[0]}.`, problems.join('; '));
}

const refusalOf = {
  query: 'The request query is not valid',
  headers: 'The request headers are not valid',
  body: 'The request body is not valid',
};

function fieldName(part: string, path: PropertyKey[]): string {
  // Keys of free-form objects are the caller's own text; a sentence needs only the start of one.
  return path.length === 0 ? part : path.map((step) => String(step).slice(0, 100)).join('.');
}
