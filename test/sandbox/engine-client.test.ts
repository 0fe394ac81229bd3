import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect as dial, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { callEngine, type EngineCommand, EngineUnreachableError } from '../../src/sandbox/engine-client.ts';

const never = new AbortController().signal;

/** A server in the place of an engine, which answers as the test says. */
async function startEngine(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer);
  const taken: Socket[] = [];
  server.on('connection', (socket: Socket) => taken.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  async function connect(): Promise<Socket> {
    const socket = dial({ port, host: '127.0.0.1' });
    await once(socket, 'connect');
    return socket;
  }
  return {
    taken,
    ask: (command: EngineCommand, signal = never) =>
      callEngine({ ...command, connect, secret: 'secret', signal }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

test('each command has a connection of its own, which ends with the answer', async () => {
  await using engine = await startEngine((request, response) => response.end(JSON.stringify(request.url)));
  for (const path of ['/one', '/two', '/three']) {
    expect(await engine.ask({ method: 'POST', path, body: {} })).toEqual({ status: 200, body: path });
    // A connection that waited for the next command might be one to an engine that has ended since.
    await expect.poll(() => engine.taken.at(-1)?.destroyed).toBe(true);
  }
  expect(engine.taken).toHaveLength(3);
});

test.each([
  ['before it answers', (response: ServerResponse) => response.destroy()],
  [
    'in the middle of its answer',
    (response: ServerResponse) => {
      response.writeHead(200, { 'content-length': 10 });
      response.write('"abc', () => response.destroy());
    },
  ],
])('an engine that breaks off %s is told from one that answers, with the cause', async (_when, breakOff) => {
  await using engine = await startEngine((_request, response) => breakOff(response));
  const asked = engine.ask({ method: 'POST', path: '/turns', body: {} });
  await expect(asked).rejects.toThrow(EngineUnreachableError);
  await expect(asked).rejects.toMatchObject({ cause: expect.any(Error) });
});

test('an engine that says nothing is waited for as long as the caller wants', async () => {
  const leaving = new AbortController();
  await using engine = await startEngine(() => leaving.abort());
  const asked = engine.ask({ method: 'GET', path: '/' }, leaving.signal);
  await expect(asked).rejects.toThrow(EngineUnreachableError);
});

test('an engine that answers with too much is not listened to', async () => {
  await using engine = await startEngine((_request, response) => response.end('x'.repeat(1_048_577)));
  await expect(engine.ask({ method: 'GET', path: '/' })).rejects.toThrow(EngineUnreachableError);
});
