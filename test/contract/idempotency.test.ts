import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { takesIdempotencyKey } from '../../src/contract/operation.ts';
import type { OperationName } from '../../src/contract/operations.ts';
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
import { type Stage, startStage } from './stage.ts';
import { countRows } from './tables.ts';

let stage: Stage;
let fixture: Fixture;
beforeAll(async () => {
  stage = await startStage();
  fixture = await makeFixture(stage);
});
afterAll(() => stage?.close());

const posts = operationNames.filter((name) => takesIdempotencyKey(operationOf(name)));
const streams = operationNames.filter(
  (name) => operationOf(name).method === 'POST' && operationOf(name).content === 'text/event-stream',
);

describe('a POST with an Idempotency-Key', () => {
  test.each(posts)('%s repeats its answer, is done once, and refuses another body', async (name) => {
    const key = randomUUID();
    const call = await prepare(name);
    const first = await sendWithKey(name, call, key);
    expect(first.status, JSON.stringify(first.body)).toBeLessThan(300);
    const after = await countSettled();
    const second = await sendWithKey(name, call, key);
    expect({ status: second.status, body: second.body }).toEqual({ status: first.status, body: first.body });
    const other = { ...call, body: { ...((call.body as object | undefined) ?? {}), another: 'field' } };
    expect(outcome(await sendWithKey(name, other, key))).toBe('409 idempotency_key_reused');
    expect(await countSettled()).toEqual(after);
  });

  test.each(posts)('%s sent ten times at once is done once and answers ten times the same', async (name) => {
    const other = await prepare(name);
    const single = await rowsAdded(async () => void (await sendWithKey(name, other, randomUUID())));
    const key = randomUUID();
    const call = await prepare(name);
    const answers = await rowsAddedWith(single, () =>
      Promise.all(Array.from({ length: 10 }, () => sendWithKey(name, call, key))),
    );
    for (const answer of answers) {
      expect({ status: answer.status, body: answer.body }).toEqual({
        status: answers[0]?.status,
        body: answers[0]?.body,
      });
    }
    expect(answers[0]?.status).toBeLessThan(300);
  });

  test('is refused where the answer is a stream', async () => {
    for (const name of streams) {
      const answer = await sendWithKey(name, await prepare(name), randomUUID());
      expect(outcome(answer), name).toBe('400 invalid_request');
    }
  });

  test('a key belongs to its caller and its path', async () => {
    const key = randomUUID();
    const other = await makeFixture(stage);
    const name = { name: stage.unique('environment') };
    const answers = [
      await sendWithKey('createEnvironment', { body: name }, key),
      await send(other.callers.org_key, 'createEnvironment', {
        body: name,
        headers: { 'idempotency-key': key },
      }),
      await sendWithKey('createVariable', await prepare('createVariable'), key),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(answers[1]?.body.environment.organization_id).toBe(other.org.id);
  });

  test('a refused request leaves its key free', async () => {
    const key = randomUUID();
    const call = await prepare('createVariable');
    const broken = { ...call, body: { ...(call.body as object), key: '1 bad key' } };
    expect(outcome(await sendWithKey('createVariable', broken, key))).toBe('400 invalid_request');
    expect(outcome(await sendWithKey('createVariable', call, key))).toBe('201');
  });

  test('a caller who hangs up before the answer is whole gets the first answer when asking again', async () => {
    await using host = await startSilentHost();
    const key = randomUUID();
    const call = { ...(await prepare('createSkillRegistry')), body: { url: host.url } };
    const hangUp = new AbortController();
    const path = pathOf(operationOf('createSkillRegistry'), call);
    const cut = fetch(`${stage.world.url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${fixture.org.key}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify(call.body),
      signal: hangUp.signal,
    });
    await vi.waitFor(async () => expect(await recordOf(key)).toMatchObject({ status: null }));
    hangUp.abort();
    await expect(cut).rejects.toThrow();
    await vi.waitFor(async () => expect(await recordOf(key)).toMatchObject({ status: 200 }));
    const after = await countRows(stage.world.pool);
    const again = await sendWithKey('createSkillRegistry', call, key);
    expect(again.body.registry).toMatchObject({ url: host.url, repo_skills: [] });
    expect(await countRows(stage.world.pool)).toEqual(after);
  });

  test.each(['testWarmHook', 'saveTestWarmHook', 'testStartHook'] as const)(
    '%s that could not be done is answered alike and not begun again',
    async (name) => {
      const call = await prepare(name);
      // Nothing else may make a sandbox meanwhile.
      const before = await countSettled();
      stage.driver.failNext('create', new Error('there is no room'));
      const key = randomUUID();
      const answers = [await sendWithKey(name, call, key), await sendWithKey(name, call, key)];
      expect(answers.map(outcome)).toEqual(['502 hook_test_failed', '502 hook_test_failed']);
      expect(answers[1]?.body.error).toBe(answers[0]?.body.error);
      const after = await countSettled();
      expect(after.hook_test).toBe((before.hook_test ?? 0) + 1);
    },
  );

  test.each([
    ['empty', ''],
    ['256 characters', 'k'.repeat(256)],
    ['with a space', 'a b'],
    ['beyond ASCII', 'clé'],
  ])('a key that is %s is refused', async (_kind, key) => {
    for (const name of posts) {
      const answer = await sendWithKey(name, await prepare(name), key);
      expect(outcome(answer), name).toBe('400 invalid_request');
    }
  });
});

function prepare(name: OperationName): Promise<LooseCall> {
  return exampleOf(name, fixture, usualCaller(name));
}

function sendWithKey(name: OperationName, call: LooseCall, key: string) {
  return send(fixture.callers[usualCaller(name)], name, withHeaders(call, { 'idempotency-key': key }));
}

function recordOf(key: string) {
  return stage.world.db
    .selectFrom('idempotency_record')
    .select('status')
    .where('key', '=', key)
    .executeTakeFirst();
}

/** A git host that takes connections and never says a word. */
async function startSilentHost() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => {})));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/silent`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

async function countSettled(): Promise<Record<string, number>> {
  await stage.settle();
  return countRows(stage.world.pool);
}

async function rowsAdded(change: () => Promise<void>): Promise<Record<string, number>> {
  const before = await countSettled();
  await change();
  const after = await countSettled();
  const added = Object.entries(after).map(([table, count]) => [table, count - (before[table] ?? 0)]);
  return Object.fromEntries(added.filter(([, count]) => count !== 0));
}

async function rowsAddedWith<T>(expected: Record<string, number>, change: () => Promise<T>): Promise<T> {
  const done: T[] = [];
  expect(await rowsAdded(async () => void done.push(await change()))).toEqual(expected);
  return done[0] as T;
}
