import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { Operation } from '../../src/contract/operation.ts';
import { until } from '../world/world.ts';
import { startTestApp, type TestApp } from './test-app.ts';

const raw = {
  method: 'POST',
  tag: 'Automations',
  summary: 'Take bytes',
  access: 'anyone',
  isRaw: true,
  answers: { 200: z.object({ bytes: z.number() }) },
} as const;
const operations = {
  takeMuch: { ...raw, path: '/v1/much', bodyLimit: 1_000_000 },
  takeLittle: { ...raw, path: '/v1/little', bodyLimit: 100_000 },
} as const satisfies Record<string, Operation>;

let road: TestApp;
let sockets: Socket[] = [];
beforeEach(async () => {
  const count = async ({ rawBody }: { rawBody: Buffer }) =>
    ({ status: 200, body: { bytes: rawBody.length } }) as const;
  road = await startTestApp({ operations, handlers: { takeMuch: count, takeLittle: count } });
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await road.close();
});

/** Begins a request whose body never comes to its end; the service has seen it when this has ended. */
async function begin(path: string, head: string): Promise<void> {
  const socket = connect(Number(new URL(road.url).port), '127.0.0.1');
  sockets.push(socket);
  const more = 'Host: a\r\nContent-Type: a/b\r\nExpect: 100-continue';
  socket.write(`POST ${path} HTTP/1.1\r\n${more}\r\n${head}\r\n\r\n`);
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toMatch(/^HTTP\/1.1 100 /);
}

async function send(path: string, bytes: number): Promise<number> {
  const body = Buffer.alloc(bytes, 'x');
  const headers = { 'content-type': 'application/json' };
  return (await fetch(`${road.url}${path}`, { method: 'POST', headers, body })).status;
}

test.each(['Content-Length: 900000', 'Transfer-Encoding: chunked'])(
  'only so many large bodies are taken at once (%s), and small ones at any time',
  async (head) => {
    for (let n = 0; n < 7; n++) await begin('/v1/much', head);
    for (let n = 0; n < 20; n++) await begin('/v1/little', 'Transfer-Encoding: chunked');
    await begin('/v1/much', head);
    expect(await send('/v1/much', 900_000)).toBe(429);
    expect([await send('/v1/much', 200_000), await send('/v1/little', 90_000)]).toEqual([200, 200]);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await send('/v1/much', 900_000)) === 200);
  },
);
