import { connect, createServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openTunnel } from './tunnel.ts';

let server: Server;
let behave: (socket: Socket, head: string) => void;

beforeEach(async () => {
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (head) => behave(socket, head.toString()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

const accepted = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: tcp\r\n\r\n';

function tunnel(signal = AbortSignal.timeout(5_000)) {
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return openTunnel(connect(port, '127.0.0.1'), { port: 4000, secret: 'word', signal });
}

test('the engine is asked by name of the port and with its secret', async () => {
  let asked = '';
  behave = (socket, head) => {
    asked = head;
    socket.end(accepted);
  };
  await text(await tunnel());
  expect(asked).toMatch(/^POST \/tunnel\/4000 HTTP\/1.1\r\n/);
  expect(asked).toMatch(/^authorization: Bearer word\r$/im);
  expect(asked).toMatch(/^upgrade: tcp\r$/im);
});

test('what the port says comes through, also when it came with the answer', async () => {
  behave = (socket) => {
    socket.write(`${accepted}early `);
    socket.once('data', (said) => socket.end(`late ${said}`));
  };
  const stream = await tunnel();
  stream.write('word');
  expect(await text(stream)).toBe('early late word');
});

test.each([
  ['refuses', 'HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n', 'answered 502'],
  ['hangs up', '', 'cannot be reached'],
  ['talks nonsense', 'what?\r\n\r\n', 'cannot be reached'],
])('an engine that %s is an error and the connection is closed', async (_name, words, message) => {
  const closed = new Promise((resolve) =>
    server.once('connection', (socket) => socket.once('close', resolve)),
  );
  behave = (socket) => socket.end(words);
  await expect(tunnel()).rejects.toThrow(message);
  await closed;
});

test('an engine that says nothing is waited for as long as the caller wants', async () => {
  behave = () => undefined;
  const caller = new AbortController();
  const waiting = tunnel(caller.signal);
  caller.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
});
