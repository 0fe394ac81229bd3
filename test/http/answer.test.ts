import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Operation } from '../../src/contract/operation.ts';
import { startTestApp, type TestApp } from './test-app.ts';

const operations = {
  greet: {
    method: 'GET',
    path: '/v1/greeting',
    tag: 'Account',
    summary: 'Greet',
    access: 'member',
    headers: z.object({
      'x-service-api-version': z.literal('2026-05-17', 'must be 2026-05-17 or absent').optional(),
      prefer: z.string().max(100).optional(),
    }),
    answers: { 200: z.object({ version: z.string().nullable(), prefer: z.string().nullable() }) },
  },
  getLog: {
    method: 'GET',
    path: '/v1/logs/{kind}',
    tag: 'Account',
    summary: 'Read a log',
    access: 'member',
    params: z.object({ kind: z.enum(['whole', 'read', 'broken']) }),
    content: 'text/plain',
    answers: { 200: z.string() },
  },
  writeLog: {
    method: 'POST',
    path: '/v1/logs',
    tag: 'Account',
    summary: 'Write a log',
    access: 'member',
    content: 'text/plain',
    answers: { 201: z.string() },
  },
} as const satisfies Record<string, Operation>;

const logs = {
  whole: () => 'all of it: é\n',
  read: () => Readable.from(['piece ', 'by ', 'piece']),
  broken: () =>
    new Readable({
      read() {
        this.destroy(new Error('the disk is gone'));
      },
    }),
};

let road: TestApp;
let written = 0;
beforeAll(async () => {
  road = await startTestApp({
    operations,
    handlers: {
      greet: async ({ headers }) => ({
        status: 200,
        body: { version: headers['x-service-api-version'] ?? null, prefer: headers.prefer ?? null },
      }),
      getLog: async ({ params }) => ({ status: 200, body: logs[params.kind]() }),
      writeLog: async () => ({ status: 201, body: `line ${++written}` }),
    },
    inspectAnswer: (operation, { status, body }) => void operation.answers[status as 200]?.parse(body),
  });
});
afterAll(() => road.close());

describe('headers of an operation', () => {
  const greet = (headers: Record<string, string>) => road.call('GET', '/v1/greeting', undefined, headers);

  test('reach the handler as they were parsed, and may be left out', async () => {
    expect((await greet({})).body).toEqual({ version: null, prefer: null });
    const headers = {
      'X-Service-Api-Version': '2026-05-17',
      Prefer: 'handling=strict',
      'X-Other': 'ignored',
    };
    expect((await greet(headers)).body).toEqual({ version: '2026-05-17', prefer: 'handling=strict' });
  });

  test.each([
    [
      'wrong',
      { 'x-service-api-version': '2025-01-01' },
      'x-service-api-version: must be 2026-05-17 or absent',
    ],
    ['too long', { prefer: 'x'.repeat(101) }, 'prefer: Too big: expected string to have <=100 characters'],
  ])('are refused when they are %s', async (_, headers, problem) => {
    expect(await greet(headers as Record<string, string>)).toMatchObject({
      status: 400,
      body: { error: `The request headers are not valid: ${problem}.`, details: problem },
    });
  });
});

describe('a text answer', () => {
  test.each([
    ['whole', 'all of it: é\n'],
    ['read', 'piece by piece'],
  ])('that is %s comes as text', async (kind, text) => {
    const answer = await road.call('GET', `/v1/logs/${kind}`);
    expect(answer).toMatchObject({ status: 200, body: text });
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('that cannot be read is an ordinary error answer', async () => {
    expect(await road.call('GET', '/v1/logs/broken')).toMatchObject({ status: 500 });
    expect(await road.call('GET', '/v1/logs/other')).toMatchObject({ status: 404 });
  });

  test('to a write is repeated under its Idempotency-Key', async () => {
    const write = () => road.call('POST', '/v1/logs', undefined, { 'idempotency-key': 'once' });
    expect([(await write()).body, (await write()).body]).toEqual(['line 1', 'line 1']);
  });
});
