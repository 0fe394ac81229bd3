import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { createLookup } from './lookup.ts';

let server: Socket | null = null;

afterEach(() => {
  server?.close();
  server = null;
});

/** A name server on the loopback address that answers with these bytes after the question, or not at all. */
async function startServer(answer: ((query: Buffer) => Buffer) | null): Promise<string> {
  const socket = createSocket('udp4');
  server = socket;
  socket.on('message', (query, { port, address }) => {
    if (answer) socket.send(answer(query), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return `127.0.0.1:${socket.address().port}`;
}

/** An answer to a question for addresses of IPv4: 203.0.113.7; to others: none. */
function known(query: Buffer): Buffer {
  const isV4 = query.readUInt16BE(endOfName(query)) === 1;
  const head = Buffer.from(query.subarray(0, endOfName(query) + 4));
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(isV4 ? 1 : 0, 6);
  head.writeUInt16BE(0, 10);
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 203, 0, 113, 7]);
  return isV4 ? Buffer.concat([head, record]) : head;
}

function endOfName(query: Buffer): number {
  let at = 12;
  while (query[at] !== 0) at += (query[at] ?? 0) + 1;
  return at + 1;
}

test('a name that DNS knows has the addresses it says', async () => {
  const lookup = createLookup({ asksSystem: false, servers: [await startServer(known)] });
  expect(await lookup('hooks.example.com')).toEqual(['203.0.113.7']);
});

test('a name whose server never answers is given up', async () => {
  const lookup = createLookup({ asksSystem: false, servers: [await startServer(null)], timeoutMs: 100 });
  await expect(lookup('hooks.example.com')).rejects.toMatchObject({ code: 'ETIMEOUT' });
});

function unknown(query: Buffer): Buffer {
  const answer = Buffer.from(query.subarray(0, endOfName(query) + 4));
  answer.writeUInt16BE(0x8183, 2);
  answer.writeUInt16BE(0, 10);
  return answer;
}

test('a name that only this machine knows is found there', async () => {
  const lookup = createLookup({ asksSystem: true, servers: [await startServer(unknown)] });
  expect(await lookup('localhost')).toContain('127.0.0.1');
});

test('a name that DNS does not know is not asked for again where only public addresses count', async () => {
  const lookup = createLookup({ asksSystem: false, servers: [await startServer(unknown)] });
  await expect(lookup('localhost')).rejects.toMatchObject({ code: 'ENOTFOUND' });
});
