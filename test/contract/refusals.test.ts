import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { type ErrorCode, errorStatus } from '../../src/contract/error.ts';
import { errorsOf } from '../../src/contract/operation.ts';
import type { OperationName } from '../../src/contract/operations.ts';
import { newId } from '../../src/lib/ids.ts';
import { type ApiCall, caller, startWorld, type World } from '../world/world.ts';
import {
  type LooseCall,
  operationNames,
  operationOf,
  outcome,
  pathOf,
  send,
  usualCaller,
  withHeaders,
} from './call.ts';
import { exampleOf } from './examples.ts';
import { type Fixture, makeFixture } from './fixture.ts';
import { isIdSchema, parametersOf } from './published.ts';
import { announce } from './raw-http.ts';
import type { RefusedCall } from './refusal.ts';
import { refusals } from './refusals.ts';
import { type Stage, startStage } from './stage.ts';

type Case = (name: OperationName) => Promise<RefusedCall>;

/** The smallest that can be set, so that a body over it is quick to send. */
const BODY_LIMIT_BYTES = 100_000;

let stage: Stage;
let fixture: Fixture;
const calls = new Map<OperationName, Promise<LooseCall>>();
/** A service where everybody may make one request at once. */
let strict: World;
beforeAll(async () => {
  stage = await startStage({ REPLICA_BODY_LIMIT_BYTES: String(BODY_LIMIT_BYTES) });
  fixture = await makeFixture(stage);
  strict = await startWorld({
    environment: { REPLICA_RATE_LIMIT_BURST: '1', REPLICA_RATE_LIMIT_PER_SECOND: '1' },
  });
});
afterAll(async () => {
  await strict?.close();
  await stage?.close();
});

/** What can go wrong in the same way everywhere. */
const shared: Partial<Record<ErrorCode, Case>> = {
  unauthenticated: async (name) => ({ ...(await usual(name)), by: fixture.callers.nobody }),
  forbidden: async (name) => ({ ...(await usual(name)), by: fixture.callers.member }),
  not_found: async (name) => {
    const params = parametersOf(name, 'path').map(({ name: param, schema }) => [
      param,
      isIdSchema(schema) ? randomUUID() : 'nothing',
    ]);
    return { ...(await usual(name)), params: Object.fromEntries(params) };
  },
  invalid_request: async (name) => {
    const { body, query, headers } = operationOf(name);
    const call = await usual(name);
    if (body) return { ...call, body: 7 };
    // Everything that is said twice, and headers longer than any that mean something.
    if (query) return { ...call, query: ofEvery(query, ['', '']) };
    if (headers) return withHeaders(call, ofEvery(headers, '!'.repeat(3_000)));
    return withHeaders(call, { 'idempotency-key': 'two words' });
  },
  invalid_json: async (name) => ({ ...(await usual(name)), body: '{"name": ' }),
  payload_too_large: async (name) => {
    const { bodyLimit } = operationOf(name);
    const call = await usual(name);
    if (bodyLimit === undefined) return { ...call, body: ' '.repeat(BODY_LIMIT_BYTES + 1) };
    return { ...call, by: announcing(bodyLimit + 1) };
  },
  unsupported_media_type: async (name) => withHeaders(await usual(name), { 'content-type': 'text/plain' }),
  idempotency_key_reused: async (name) => {
    const headers = { 'idempotency-key': randomUUID() };
    const call = await usual(name);
    const first = await send(fixture.callers[usualCaller(name)], name, withHeaders(call, headers));
    expect(first.status, JSON.stringify(first.body)).toBeLessThan(300);
    return withHeaders({ ...call, body: { ...(call.body as object), another: 'field' } }, headers);
  },
  idempotency_key_in_progress: async (name) => {
    const key = randomUUID();
    const call = await usual(name);
    await leaveUnanswered(name, { path: pathOf(operationOf(name), call), body: call.body, key });
    return withHeaders(call, { 'idempotency-key': key });
  },
  rate_limited: async (name) => {
    const { key } = await strict.org();
    const by = operationOf(name).access === 'anyone' ? strict.call : caller(strict.url, key);
    return { ...(await usual(name)), by: insistent(by) };
  },
};

/** Trouble of ours, which no request can provoke; see trouble.test.ts. */
const ours: ErrorCode[] = ['internal_error', 'unavailable'];

describe('every error an operation declares', () => {
  const pairs = operationNames.flatMap((name) =>
    errorsOf(operationOf(name))
      .filter((code) => !ours.includes(code))
      .map((code) => ({ name, code })),
  );

  test('has a case that provokes it', () => {
    const missing = pairs.filter(({ name, code }) => !caseOf(name, code));
    expect(missing).toEqual([]);
  });

  test.each(operationNames)('%s answers with each of them', async (name) => {
    for (const { code } of pairs.filter((pair) => pair.name === name)) {
      const { by = fixture.callers[usualCaller(name)], ...call } = (await caseOf(name, code)?.(name)) ?? {};
      const answer = await send(by, name, call);
      expect(outcome(answer), JSON.stringify(answer.body)).toBe(`${errorStatus[code]} ${code}`);
      if (code === 'rate_limited') expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    }
  });

  test('is in use by some operation, or stands before all of them', () => {
    const declared = new Set<ErrorCode>(operationNames.flatMap((name) => errorsOf(operationOf(name))));
    const unused = Object.keys(errorStatus).filter((code) => !declared.has(code as ErrorCode));
    expect(unused).toEqual(['request_timeout', 'headers_too_large']);
  });
});

/** What the operation says for itself goes before what all share. */
function caseOf(name: OperationName, code: ErrorCode): Case | undefined {
  const own = (
    refusals as Partial<Record<string, Partial<Record<ErrorCode, (f: Fixture) => Promise<RefusedCall>>>>>
  )[name]?.[code];
  return own ? () => own(fixture) : shared[code];
}

/** Calls again and again, faster than the service wants it. */
function insistent(call: ApiCall): ApiCall {
  return async (...request) => {
    let answer = await call(...request);
    for (let tries = 1; tries < 20 && answer.status !== 429; tries++) answer = await call(...request);
    return answer;
  };
}

/** Says how long its body is and sends none of it: millions of bytes would be refused only while they are on their way. */
function announcing(bytes: number): ApiCall {
  return async (method, path) => {
    const { status, headers, body } = await announce(stage.world.url, {
      line: `${method} ${path} HTTP/1.1`,
      key: fixture.org.key,
      bytes,
    });
    return { status, headers: new Headers(headers), body: JSON.parse(body) };
  };
}

function ofEvery<T>(schema: z.ZodObject, value: T): Record<string, T> {
  return Object.fromEntries(Object.keys(schema.shape).map((key) => [key, value]));
}

/** One example for all errors of an operation: none of them uses it up before the last that needs it. */
function usual(name: OperationName): Promise<LooseCall> {
  const known = calls.get(name) ?? exampleOf(name, fixture, usualCaller(name));
  calls.set(name, known);
  return known;
}

/** A record whose answer is not known yet, as another process holds it that waits for what it has put in motion. */
async function leaveUnanswered(
  name: OperationName,
  request: { path: string; body: unknown; key: string },
): Promise<void> {
  const who = usualCaller(name);
  const me = await fixture.callers[who]('GET', '/v1/me');
  const caller = who === 'org_key' ? `key:${me.body.api_key.id}` : `person:${me.body.person.id}`;
  const sent = request.body === undefined ? '' : JSON.stringify(request.body);
  await stage.world.db
    .insertInto('idempotency_record')
    .values({
      id: newId(),
      organization_id: fixture.org.id,
      caller,
      key: request.key,
      path: request.path,
      body_hash: createHash('sha256').update(sent).digest(),
      created_at: new Date(),
    })
    .execute();
}
