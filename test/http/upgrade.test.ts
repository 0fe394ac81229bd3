import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { AppError } from '../../src/contract/error.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { exchange, openSocket } from '../contract/raw-http.ts';
import { startTestApp, type TestApp } from './test-app.ts';

const operations = {
  greet: {
    method: 'GET',
    path: '/v1/greeting',
    tag: 'Account',
    summary: 'Greet',
    access: 'anyone',
    answers: { 200: z.object({ hello: z.string() }) },
  },
} as const satisfies Record<string, Operation>;

let road: TestApp;
beforeEach(async () => {
  road = await startTestApp({
    operations,
    handlers: { greet: async () => ({ status: 200, body: { hello: 'world' } }) },
  });
  road.app.onUpgrade('/p/', async ({ url }, socket, head) => {
    if (url === '/p/refused') throw new AppError('not_found', 'No such preview.');
    if (url === '/p/broken') throw new Error('secret of ours');
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
    socket.write(head);
    socket.pipe(socket);
  });
  road.app.onUpgrade(
    ({ headers }) => headers.host === 'preview.example',
    async (_request, socket) => void socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
  );
});
afterEach(() => road.close());

const ask = (path: string, { host = 'a', protocol = 'echo' } = {}) =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;

test('what a handler has asked for is handed to it with its connection', async () => {
  const socket = await openSocket(road.url);
  socket.write(`${ask('/p/1/3000')}early `);
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
    if (received.endsWith('early ')) socket.write('late');
    if (received.endsWith('late')) socket.end();
  });
  await once(socket, 'close');
  expect(received).toBe(
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly late',
  );
});

test('what is asked for by host name goes to the handler of that name', async () => {
  const [answer] = await exchange(road.url, ask('/', { host: 'preview.example' }));
  expect(answer?.status).toBe(101);
});

test.each([
  ['/p/refused', 404, 'not_found', 'No such preview.'],
  ['/p/broken', 500, 'internal_error', expect.stringMatching(/^Something went wrong/)],
])('a handler that throws at %s gives an error answer', async (path, status, code, error) => {
  const [answer] = await exchange(road.url, ask(path));
  expect(answer).toMatchObject({ status, headers: { 'x-service-error-code': code } });
  expect(JSON.parse(answer?.body ?? '')).toEqual({ error, details: null });
});

test('who only offers another protocol gets the ordinary answer', async () => {
  const offer = ask('/v1/greeting', { protocol: 'h2c' }).replace(
    'Connection: Upgrade',
    'Connection: close, Upgrade',
  );
  const [answer] = await exchange(road.url, offer);
  expect(answer).toMatchObject({ status: 200, body: '{"hello":"world"}' });
});

test('a service that stops ends connections that have left HTTP', async () => {
  const socket = await openSocket(road.url);
  socket.write(ask('/p/1/3000'));
  await once(socket, 'data');
  expect(road.app.stopping.aborted).toBe(false);
  const closed = once(socket, 'close');
  const beganAt = performance.now();
  await road.app.close();
  await closed;
  expect(performance.now() - beganAt).toBeLessThan(10_000);
  expect(road.app.stopping.aborted).toBe(true);
});
