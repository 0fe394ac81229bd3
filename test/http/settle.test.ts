import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { AppError } from '../../src/contract/error.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { startTestApp, type TestApp } from './test-app.ts';

const operations = {
  makeThing: {
    method: 'POST',
    path: '/v1/things',
    tag: 'Account',
    summary: 'Make a thing',
    access: 'member',
    answers: { 201: z.object({ made: z.int() }) },
  },
} as const satisfies Record<string, Operation>;

let road: TestApp;
let runs = 0;
let settle: (signal: AbortSignal) => Promise<{ made: number }>;
beforeAll(async () => {
  road = await startTestApp({
    operations,
    handlers: {
      makeThing: async () => ({
        status: 201,
        body: { made: ++runs },
        settle: (_db, signal) => settle(signal),
      }),
    },
  });
});
beforeEach(() => {
  runs = 0;
});
afterAll(() => road.close());

const make = async (key: string) => {
  const { status, body, headers } = await road.call('POST', '/v1/things', undefined, {
    'idempotency-key': key,
  });
  return { status, made: body.made, error: body.error, code: headers.get('x-service-error-code') };
};

test.each([
  ['limit_reached', 409],
  ['hook_test_failed', 502],
  ['unavailable', 503],
] as const)(
  'a repeat of what was refused with %s after the commit is refused alike',
  async (code, status) => {
    settle = () => Promise.reject(new AppError(code, 'There are enough things.'));
    const refused = await make(code);
    expect(refused).toMatchObject({ status, code, error: 'There are enough things.' });
    settle = async () => ({ made: 100 });
    expect(await make(code)).toEqual(refused);
    expect(runs).toBe(1);
    expect(await make(`${code}-again`)).toMatchObject({ status: 201, made: 100 });
  },
);

test('a repeat that waits for a request that is refused in the end is refused alike', async () => {
  const { promise, reject } = Promise.withResolvers<{ made: number }>();
  settle = () => promise;
  const first = make('awaited');
  await expect.poll(() => runs).toBe(1);
  const repeats = [make('awaited'), make('awaited')];
  reject(new AppError('hook_test_failed', 'Nothing came of it.'));
  const refused = await first;
  expect(refused).toMatchObject({ status: 502, error: 'Nothing came of it.' });
  expect(await Promise.all(repeats)).toEqual([refused, refused]);
  expect(runs).toBe(1);
});

test('a repeat after a refusal says that another key is needed', async () => {
  settle = () => Promise.reject(new AppError('unavailable', 'Nobody answers; try again shortly.'));
  await make('spent');
  const { body } = await road.call('POST', '/v1/things', undefined, { 'idempotency-key': 'spent' });
  expect(body.details).toMatch(/use a new key/);
});

test('trouble after the commit keeps the first answer for a repeat', async () => {
  settle = () => Promise.reject(new Error('broken'));
  expect(await make('broken')).toMatchObject({ status: 500 });
  expect(await make('broken')).toMatchObject({ status: 201, made: 1 });
  expect(runs).toBe(1);
});

test('who hangs up after the commit gets the first answer when asking again', async () => {
  const { promise: left, resolve } = Promise.withResolvers<void>();
  settle = async (signal) => {
    await once(signal, 'abort');
    resolve();
    throw signal.reason;
  };
  const hangUp = new AbortController();
  const headers = { authorization: `Bearer ${road.token}`, 'idempotency-key': 'left' };
  const cut = fetch(`${road.url}/v1/things`, { method: 'POST', headers, signal: hangUp.signal });
  await expect.poll(() => runs).toBe(1);
  hangUp.abort();
  await expect(cut).rejects.toThrow();
  await left;
  expect(await make('left')).toMatchObject({ status: 201, made: 1 });
  expect(runs).toBe(1);
});
