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
