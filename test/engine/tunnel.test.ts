import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openTunnel } from '../../src/engine/tunnel.ts';

/** A server in the workspace. */
async function listen(host: string, onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    onConnection(socket);
  });
  server.listen(0, host);
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** A connection as the control plane opens it, with what it sends along with the request. */
async function open(port: number, extra = ''): Promise<Socket> {
  const server = createHttpServer();
  server.on('upgrade', (_request, socket, head) => openTunnel(socket, head, port));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: enginePort } = server.address() as AddressInfo;
  const socket = connect({ port: enginePort, host: '127.0.0.1', allowHalfOpen: true });
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  socket.write(
    `POST /tunnel/${port} HTTP/1.1\r\nhost: engine\r\nconnection: Upgrade\r\nupgrade: tcp\r\n\r\n${extra}`,
  );
  return socket;
}

const afterHead = (answer: string) => answer.slice(answer.indexOf('\r\n\r\n') + 4);

describe('a tunnel', () => {
  test.each(['127.0.0.1', '::1'])(
    'passes bytes both ways to a server on %s, and half an end',
    async (host) => {
      const port = await listen(host, async (socket) => socket.end(`got ${await text(socket)}`));
      const socket = await open(port, 'early ');
      socket.end('late');
      const answer = await text(socket);
      expect(answer).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
      expect(afterHead(answer)).toBe('got early late');
    },
  );

  test('answers 502 with a sentence when nothing listens', async () => {
    const port = await listen('127.0.0.1', () => {});
    const unused = port === 65_535 ? port - 1 : port + 1;
    const answer = await text(await open(unused));
    expect(answer).toMatch(/^HTTP\/1\.1 502 /);
    expect(JSON.parse(afterHead(answer))).toEqual({
      error: `Nothing listens on port ${unused} of the workspace.`,
    });
  });

  test('carries megabytes without holding them', async () => {
    const port = await listen('127.0.0.1', (socket) => socket.pipe(socket));
    const socket = await open(port);
    const sent = Buffer.alloc(8_000_000, 'abc');
    socket.end(sent);
    const answer = await buffer(socket);
    expect(answer.subarray(answer.indexOf('\r\n\r\n') + 4).equals(sent)).toBe(true);
  });

  test('breaks on one side when the other breaks', async () => {
    const broken = vi.fn();
    const port = await listen('127.0.0.1', (socket) => socket.resume().on('error', broken));
    const socket = await open(port);
    await once(socket, 'data');
    socket.resetAndDestroy();
    await vi.waitFor(() => expect(broken).toHaveBeenCalled(), 5_000);
  });
});
