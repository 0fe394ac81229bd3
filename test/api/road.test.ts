import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let org: Organization;
beforeAll(async () => {
  world = await startWorld();
  org = await world.org();
});
afterAll(() => world.close());

describe('an Idempotency-Key', () => {
  test('holds for the path however it is spelled', async () => {
    const { body } = await org.call('POST', '/v1/environments', { name: newId() });
    const id = body.environment.id;
    const headers = { 'idempotency-key': newId() };
    const spellings = [`${id}/variables`, `${id}/variables/`, `${id.toUpperCase()}/variables?again=1`];
    const answers = [];
    for (const spelling of spellings) {
      const variable = { key: 'ONCE', value: '1' };
      answers.push(await org.call('POST', `/v1/environments/${spelling}`, variable, headers));
    }
    expect(answers.map((answer) => answer.status)).toEqual([201, 201, 201]);
    expect(new Set(answers.map((answer) => answer.body.environment_variable.id)).size).toBe(1);
  });

  test('is kept for a path with a long query too', async () => {
    const noise = randomBytes(6_000).toString('base64url');
    const headers = { 'idempotency-key': newId() };
    const made = await org.call('POST', `/v1/environments?noise=${noise}`, { name: newId() }, headers);
    expect(made.status).toBe(201);
  });
});

test('an expectation that nobody knows is passed over', async () => {
  const { port, hostname } = new URL(world.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write('GET /v1/me HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nConnection: close\r\n\r\n');
  let answer = '';
  for await (const chunk of socket) answer += chunk;
  expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  expect(answer).toContain('"details":null}');
});

test('a caller who sends ten megabytes reads the refusal, each time', async () => {
  const body = JSON.stringify({ name: 'x'.repeat(10_000_000) });
  for (let round = 0; round < 5; round++) {
    const answer = await org.call('POST', '/v1/environments', body);
    expect([answer.status, answer.headers.get('x-service-error-code')]).toEqual([413, 'payload_too_large']);
  }
});

test('no answer may be kept by anybody on the way', async () => {
  const { headers } = await org.call('GET', '/v1/environments');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
});

test('metrics count requests by operation, connections and jobs', async () => {
  await org.call('GET', '/v1/environments');
  const text = await (await fetch(`${world.url}/metrics`)).text();
  expect(text).toMatch(
    /^replica_http_request_duration_seconds_count\{operation="listEnvironments",status="200"\} [1-9]/m,
  );
  expect(text).toMatch(/^replica_database_connections\{state="idle"\} \d+/m);
  expect(text).toMatch(/^replica_jobs\{state="waiting"\} \d+/m);
});

test.each([
  ['127.0.0.1', 401],
  ['', 429],
])(
  'behind the trusted proxies "%s" a stranger meets %i when another one has asked too often',
  async (proxies, expected) => {
    const small = await startWorld({
      environment: {
        REPLICA_TRUSTED_PROXIES: proxies,
        REPLICA_RATE_LIMIT_BURST: '2',
        REPLICA_RATE_LIMIT_PER_SECOND: '1',
      },
    });
    const ask = async (address: string) =>
      (await small.call('GET', '/v1/environments', undefined, { 'x-forwarded-for': address })).status;
    try {
      // Both are asked at once, again and again, until the first has used up what it may.
      let statuses = [0, 0];
      while (statuses[0] !== 429) {
        const many = Array.from({ length: 5 }, () => ask('192.0.2.1'));
        statuses = [(await Promise.all(many)).at(-1) ?? 0, await ask('192.0.2.2')];
      }
      expect(statuses[1]).toBe(expected);
    } finally {
      await small.close();
    }
  },
);

test('the reference page and what it loads come from this service', async () => {
  const page = await fetch(`${world.url}/reference`);
  expect([page.status, page.headers.get('content-type')]).toEqual([
    200,
    expect.stringContaining('text/html'),
  ]);
  const sources = [...(await page.text()).matchAll(/<(?:script|link)[^>]*\s(?:src|href)="([^"]+)"/g)];
  expect(sources.length).toBeGreaterThan(0);
  for (const [, source = ''] of sources) {
    const url = new URL(source, page.url);
    expect(url.origin).toBe(world.url);
    expect((await fetch(url)).status).toBe(200);
  }
});
