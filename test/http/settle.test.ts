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
let settle: () => Promise<{ made: number }>;
beforeAll(async () => {
  road = await startTestApp({
    operations,
    handlers: {
      makeThing: async () => ({ status: 201, body: { made: ++runs }, settle: () => settle() }),
    },
  });
});
beforeEach(() => {
  runs = 0;
});
afterAll(() => road.close());

const make = async (key: string) => {
  const { status, body } = await road.call('POST', '/v1/things', undefined, { 'idempotency-key': key });
  return { status, made: body.made };
};

test('a refusal after the commit leaves the key free, and a repeat is done anew', async () => {
  settle = async () => {
    throw new AppError('limit_reached', 'There are enough things.');
  };
  expect(await make('refused')).toMatchObject({ status: 409 });
  expect(await make('refused')).toMatchObject({ status: 409 });
  settle = async () => ({ made: 100 + runs });
  expect(await make('refused')).toEqual({ status: 201, made: 103 });
  expect(await make('refused')).toEqual({ status: 201, made: 103 });
});

test('trouble after the commit keeps the first answer for a repeat', async () => {
  for (const error of [new AppError('unavailable', 'Nobody answers.'), new Error('broken')]) {
    settle = () => Promise.reject(error);
    expect((await make(error.message.replaceAll(' ', '-'))).status).toBeGreaterThanOrEqual(500);
    expect(await make(error.message.replaceAll(' ', '-'))).toEqual({ status: 201, made: runs });
  }
});
