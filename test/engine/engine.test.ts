import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { engineInfo } from '../../src/engine/protocol.ts';
import { engineBundle } from '../../src/runtime/engine-bundle.ts';
import {
  bootHook,
  bootPlan,
  createEngineFolder,
  type EngineFolder,
  isAlive,
  ofType,
  until,
} from './engine-folder.ts';
import { turnRequest } from './turn-request.ts';

let folder: EngineFolder;
beforeEach(() => {
  folder = createEngineFolder();
});
afterEach(() => folder.close());

test('says what it is before the gateway is there, and reports its start when it comes', async () => {
  const engine = await folder.start({ incarnation: 4 });
  const answer = await engine.request('GET', '/');
  expect(answer.status).toBe(200);
  expect(engineInfo.parse(JSON.parse(answer.text))).toMatchObject({
    protocol: { oldest: 1, newest: 1 },
    version: '0.1.0',
    incarnation: 4,
    boot: null,
  });
  expect(answer.headers['x-replica-protocol']).toBe('1');
  const gateway = await folder.openGateway();
  await until(() => ofType(gateway.events, 'engine.started').length === 1, 'the start was reported');
  expect(gateway.events[0]).toMatchObject({ seq: 1, payload: { version: '0.1.0' } });
});

test('only the secret opens it', async () => {
  const engine = await folder.start();
  for (const authorization of [
    '',
    'Bearer ',
    `Bearer ${folder.secret}x`,
    `Bearer ${randomUUID()}`,
    folder.secret,
  ]) {
    const { status, text } = await engine.request('GET', '/', undefined, { authorization });
    expect({ status, text }).toEqual({ status: 401, text: expect.stringContaining('"error"') });
  }
  const upgrade = { connection: 'upgrade', upgrade: 'tcp', authorization: 'Bearer wrong' };
  expect((await engine.request('POST', '/tunnel/80', undefined, upgrade)).status).toBe(401);
});

test('bad input gets an answer and does no harm', async () => {
  const engine = await folder.start();
  const id = randomUUID();
  const cases: [string, string, unknown, number][] = [
    ['GET', '/nothing', undefined, 404],
    ['POST', '/', undefined, 404],
    ['PUT', '/boot', Buffer.from('{"id":'), 400],
    ['PUT', '/boot', [], 400],
    ['PUT', '/boot', bootPlan({ id: '../../etc' }), 400],
    ['POST', '/turns', { id: 'x' }, 400],
    ['POST', `/turns/${id}/interrupt`, undefined, 200],
    ['POST', '/terminals', { id, cols: 0, rows: 1 }, 400],
    ['POST', `/terminals/${id}/input`, Buffer.from('x'), 404],
    ['GET', `/terminals/${id}/stream?offset=-1`, undefined, 400],
    ['POST', `/terminals/${id}/input`, Buffer.alloc(1_100_000), 413],
  ];
  for (const [method, target, body, status] of cases) {
    const answer = await engine.request(method, target, body);
    expect(`${method} ${target} ${answer.status}`).toBe(`${method} ${target} ${status}`);
    if (status >= 400) expect(JSON.parse(answer.text)).toEqual({ error: expect.any(String) });
  }
  expect((await engine.request('GET', '/')).status).toBe(200);
});

test('programs reach the gateway on a port of loopback', async () => {
  const gateway = await folder.openGateway();
  const engine = await folder.start();
  const authorization = 'authorization: Bearer $REPLICA_ENGINE_SECRET';
  const commands = [
    `curl -s -H "${authorization}" $REPLICA_GATEWAY_URL/engine/state`,
    'echo; echo $HTTPS_PROXY',
  ];
  await engine.boot(bootPlan({ hooks: [bootHook({ commands })] }));
  await until(() => ofType(gateway.events, 'boot.finished').length === 1, 'the boot has finished');
  const output = ofType(gateway.events, 'hook.output')
    .map(({ text }) => text)
    .join('');
  expect(output).toMatch(
    new RegExp(`^{"acked":\\d+}\nhttp://replica:${folder.secret}@127\\.0\\.0\\.1:\\d+\n$`),
  );
});

test('a tunnel leads to a port of the workspace', async () => {
  const server = createServer((_, response) => void response.end('from inside'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  await folder.start();
  const tunnel = connect(path.join(folder.home, '..', 'engine.sock'));
  const { port } = server.address() as AddressInfo;
  tunnel.write(
    `POST /tunnel/${port} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${folder.secret}\r\nconnection: upgrade\r\nupgrade: tcp\r\n\r\n`,
  );
  let received = '';
  tunnel.setEncoding('utf8').on('data', (text) => {
    received += text;
  });
  await until(() => received.startsWith('HTTP/1.1 101 '), 'the tunnel is open');
  tunnel.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  await until(() => received.endsWith('from inside'), 'the answer is there');
  tunnel.destroy();
  server.close();
});

test('everything is captured when the control plane asks for it', async () => {
  await folder.openGateway();
  const engine = await folder.start();
  await engine.boot(bootPlan());
  expect((await engine.request('POST', '/capture')).status).toBe(200);
});

test('a turn that is no longer listed has its end at the gateway after a flush', async () => {
  const gateway = await folder.openGateway();
  const engine = await folder.start();
  await engine.boot(bootPlan());
  const gate = path.join(folder.home, 'gate');
  const message = `SCRIPT:${JSON.stringify([{ run: `while [ ! -e ${gate} ]; do sleep 0.02; done` }])}`;
  const turn = turnRequest({ message });
  const inWork = async () => engineInfo.parse(JSON.parse((await engine.request('GET', '/')).text)).turns;
  expect(await inWork()).toEqual([]);
  expect((await engine.request('POST', '/turns', turn)).status).toBe(202);
  expect(await inWork()).toEqual([turn.id]);
  // The gateway is busy when the turn ends.
  gateway.intercept = (events) =>
    events.some(({ type }) => type === 'turn.finished') ? { status: 503 } : null;
  writeFileSync(gate, '');
  await expect.poll(inWork, { timeout: 10_000 }).toEqual([]);
  const flushed = engine.request('POST', '/flush');
  expect(ofType(gateway.events, 'turn.finished')).toEqual([]);
  gateway.intercept = null;
  expect((await flushed).status).toBe(200);
  expect(ofType(gateway.events, 'turn.finished')).toMatchObject([{ turnId: turn.id, outcome: 'completed' }]);
});

test('ends with everything it has started when it is told to', async () => {
  const gateway = await folder.openGateway();
  const engine = await folder.start();
  const left = path.join(folder.home, 'workspaces/left.pid');
  const commands = [`setsid sleep 1000 & echo $! > ${left}`, 'sleep 1000'];
  await engine.request('PUT', '/boot', bootPlan({ hooks: [bootHook({ commands })] }));
  await until(() => ofType(gateway.events, 'hook.started').length === 1 && existsSync(left), 'the hook runs');
  const started = performance.now();
  await engine.kill('SIGTERM');
  expect(performance.now() - started).toBeLessThan(2_500);
  expect(isAlive(Number(readFileSync(left, 'utf8')))).toBe(false);
});

test('says which of its variables is missing and ends', () => {
  const run = spawnSync(process.execPath, [engineBundle().bundle], { env: {}, encoding: 'utf8' });
  expect(run.status).toBe(1);
  expect(run.stderr).toContain('REPLICA_ENGINE_SECRET is not set.');
});
