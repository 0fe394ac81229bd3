import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { AppError } from '../contract/error.ts';
import { readBody, TooLargeError } from './read-body.ts';

let close = () => {};
afterEach(() => close());

/** Sends the pieces of a body, which only ends when it shall, and gives what reading it came to. */
async function read(
  pieces: string[],
  options: { maxBytes: number; limitMs?: number; ends?: boolean; headers?: Record<string, string> },
): Promise<unknown> {
  const { ends = true, headers = {}, ...limits } = options;
  const outcome = Promise.withResolvers<unknown>();
  const server = createServer((request, response) => {
    readBody(request, limits).then(
      (body) => outcome.resolve(body.toString()),
      (error: unknown) => outcome.resolve(error),
    );
    outcome.promise.then(() => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const outgoing = send({ port, host: '127.0.0.1', method: 'PUT', headers, agent: false });
  outgoing.on('error', () => {});
  close = () => {
    outgoing.destroy();
    server.close();
    server.closeAllConnections();
  };
  for (const piece of pieces) outgoing.write(piece);
  if (ends) outgoing.end();
  return outcome.promise;
}

test('a body comes whole', async () => {
  expect(await read(['one', 'two'], { maxBytes: 6 })).toBe('onetwo');
  close();
  expect(await read([], { maxBytes: 0 })).toBe('');
});

test('a body that is too long is refused, also before it has come', async () => {
  expect(await read(['one', 'two'], { maxBytes: 5 })).toBeInstanceOf(TooLargeError);
  close();
  const announced = { 'content-length': '6' };
  const refused = await read([' '], { maxBytes: 5, ends: false, headers: announced });
  expect(refused).toBeInstanceOf(TooLargeError);
});

test('a body that does not come to an end is given up', async () => {
  const refused = await read(['one'], { maxBytes: 6, limitMs: 50, ends: false });
  expect(refused).toBeInstanceOf(AppError);
  expect(refused).toMatchObject({ code: 'request_timeout' });
});
