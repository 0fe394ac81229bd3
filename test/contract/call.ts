import { expect } from 'vitest';
import { errorCodeHeader, errorStatus } from '../../src/contract/error.ts';
import { type Access, errorsOf, type Operation } from '../../src/contract/operation.ts';
import { type OperationName, operations } from '../../src/contract/operations.ts';
import type { ApiAnswer, ApiCall } from '../world/world.ts';

/**
 * Every kind of caller there is; `member` and `admin` come with a JWT, `personal_key` is a key of the member, `engine`
 * comes with the secret of a sandbox.
 */
export const everyone = ['org_key', 'personal_key', 'member', 'admin', 'engine', 'nobody'] as const;
export type Who = (typeof everyone)[number];

/** A call of some operation, with its parts as they go over the wire. */
export type LooseCall = {
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  headers?: Record<string, string>;
  body?: unknown;
};

/** Who is let in by each access, the one that the examples use first. */
const allowed: Record<Access, readonly [Who, ...Who[]]> = {
  anyone: ['nobody'],
  member: ['org_key', 'personal_key', 'member', 'admin'],
  admin: ['org_key', 'admin'],
  person: ['member', 'admin'],
  admin_person: ['admin'],
};

export const operationNames = Object.keys(operations) as OperationName[];

/** The operation as any other one, without the types that are its own. */
export function operationOf(name: OperationName): Operation {
  return operations[name];
}

/** Who may call an operation. One that looks at a credential though anyone may come takes the secret of a sandbox. */
export function callersOf(name: OperationName): readonly [Who, ...Who[]] {
  const { access, credential } = operationOf(name);
  return credential === 'engine' ? ['engine'] : allowed[access];
}

export function usualCaller(name: OperationName): Who {
  return callersOf(name)[0];
}

/**
 * A few of many, another few for the next operation. What stands before all operations in the same way need not be shown
 * to each of them with everything there is.
 */
export function someOf<T>(all: readonly T[], index: number): T[] {
  const few = 4;
  return Array.from({ length: few }, (_, step) => all[(index * few + step) % all.length] as T);
}

/** Makes a call and holds what every answer owes: headers, a declared answer, or a declared error code. */
export async function send(call: ApiCall, name: OperationName, parts: LooseCall): Promise<ApiAnswer> {
  const operation = operationOf(name);
  const path = pathOf(operation, parts);
  const answer = await call(operation.method, path, parts.body, parts.headers);
  const shown = `${operation.method} ${path} → ${answer.status} ${JSON.stringify(answer.body).slice(0, 400)}`;
  expect(answer.headers.get('x-request-id'), shown).toMatch(/^[\w.:-]{1,128}$/);
  // Whom to count is not known while the database that knows the callers is away.
  const isCounted = answer.status !== 503;
  for (const header of isCounted ? ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'] : []) {
    expect(answer.headers.get(header), `${header} of ${shown}`).toMatch(/^\d+$/);
  }
  const code = answer.headers.get(errorCodeHeader);
  if (code === null) {
    const declared = operation.answers[answer.status as 200];
    expect(answer.headers.get('content-type'), shown).toBe(`${contentOf(operation)}; charset=utf-8`);
    // A schema drops fields it does not know, so what it returns must be all there was.
    for (const sent of sentIn(operation, answer)) expect(declared?.parse(sent), shown).toEqual(sent);
  } else {
    expect(errorsOf(operation), shown).toContain(code);
    expect(errorStatus[code as keyof typeof errorStatus], shown).toBe(answer.status);
  }
  return answer;
}

/** A call with more headers than it has. */
export function withHeaders<C extends LooseCall>(call: C, headers: Record<string, string>): C {
  return { ...call, headers: { ...call.headers, ...headers } };
}

export function contentOf(operation: Operation): string {
  return operation.content ?? 'application/json';
}

/** What the contract describes of an answer: its body, or the data of each event that has come. */
export function sentIn(operation: Operation, answer: ApiAnswer): unknown[] {
  return operation.content === 'text/event-stream' ? answer.body : [answer.body];
}

/** The error code of an answer beside its status, which reads well when an expectation fails. */
export function outcome(answer: ApiAnswer): string {
  const code = answer.headers.get(errorCodeHeader);
  return code === null ? String(answer.status) : `${answer.status} ${code}`;
}

export function pathOf(operation: Operation, { params = {}, query = {} }: LooseCall): string {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) =>
    encodeURIComponent((params[name] ?? '').toWellFormed()),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one).toWellFormed());
  }
  return search.size > 0 ? `${path}?${search}` : path;
}
