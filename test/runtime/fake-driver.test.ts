import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { engineVariables } from '../../src/engine/place.ts';
import { engineEvent, engineInfo, eventBatch } from '../../src/engine/protocol.ts';
import { SandboxLostError, type SandboxSpec } from '../../src/runtime/driver.ts';
import { createFakeDriver, type FakeDriver } from '../../src/runtime/fake/driver.ts';
import { callEngine } from '../../src/sandbox/engine-client.ts';

const spec: SandboxSpec = {
  limits: { cpus: 1, memoryMiB: 512, diskMiB: 512, processes: 64 },
  layers: [],
  engineEnvironment: { [engineVariables.secret]: 'secret', [engineVariables.incarnation]: '3' },
};

let folder: string;
let driver: FakeDriver;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'replica-fake-'));
  driver = createFakeDriver({ gatewayFolder: folder });
});
afterEach(async () => {
  await driver.destroy('one');
  rmSync(folder, { recursive: true, force: true });
});

describe('faults', () => {
  test('a fault before changes nothing and happens once', async () => {
    driver.failNext('create', new Error('full'));
    await expect(driver.create('one', spec)).rejects.toThrow('full');
    expect(await driver.observe('one')).toBe('absent');
    await driver.create('one', spec);
    expect(await driver.observe('one')).toBe('running');
  });

  test('a fault after has changed everything, like an answer that got lost', async () => {
    driver.failNext('create', new Error('late'), 'after');
    await expect(driver.create('one', spec)).rejects.toThrow('late');
    expect(await driver.observe('one')).toBe('running');
  });

  test('a crash ends open connections and keeps the disk', async () => {
    await driver.create('one', spec);
    const stream = await driver.connect('one', 'engine');
    const closed = once(stream, 'close');
    driver.crash('one');
    await closed;
    expect(await driver.observe('one')).toBe('stopped');
  });

  test('a lost disk can only be built anew', async () => {
    await driver.create('one', spec);
    driver.lose('one');
    await expect(driver.resume('one', spec)).rejects.toThrow(SandboxLostError);
  });

  test('a slow operation can be given up', async () => {
    driver.delayMs = 60_000;
    await expect(driver.create('one', spec, AbortSignal.timeout(10))).rejects.toThrow();
    driver.delayMs = 0;
    expect(await driver.observe('one')).toBe('absent');
  });
});

describe('reports', () => {
  /** Keeps what arrives in order, and can be told to lose an answer. */
  async function openGateway(options: { acked?: number } = {}) {
    const taken: { seq: number; type: string }[] = [];
    const gateway = {
      taken,
      acked: options.acked ?? 0,
      losesNextAnswer: false,
      server: null as Server | null,
    };
    gateway.server = createServer(async (request, response) => {
      expect(request.headers.authorization).toBe('Bearer secret');
      if (request.method === 'POST') {
        const batch = eventBatch.parse(await json(request));
        expect(batch.incarnation).toBe(3);
        for (const event of batch.events) {
          const { seq, type } = engineEvent.parse(event);
          if (seq !== gateway.acked + 1) continue;
          gateway.acked = seq;
          taken.push({ seq, type });
        }
        if (gateway.losesNextAnswer) {
          gateway.losesNextAnswer = false;
          request.socket.destroy();
          return;
        }
      }
      response.end(JSON.stringify({ acked: gateway.acked }));
    }).listen(path.join(folder, 'gateway.sock'));
    await once(gateway.server, 'listening');
    return gateway;
  }

  test('wait for the gateway, follow its number, and arrive once although an answer got lost', async () => {
    await driver.create('one', spec);
    const gateway = await openGateway({ acked: 41 });
    gateway.losesNextAnswer = true;
    try {
      await expect.poll(() => gateway.taken).toEqual([{ seq: 42, type: 'engine.started' }]);
      await driver.suspend('one');
      await driver.resume('one', spec);
      await expect.poll(() => gateway.taken).toHaveLength(2);
      expect(gateway.taken[1]).toEqual({ seq: 43, type: 'engine.started' });
    } finally {
      gateway.server?.close();
      gateway.server?.closeAllConnections();
    }
  });
});

test('a turn is listed until it has ended, and is interrupted only as long', async () => {
  await driver.create('one', spec);
  const chatId = randomUUID();
  const turn = { id: randomUUID(), chatId, agent: 'scripted', message: 'SCRIPT:[{"sleepMs":60000}]' };
  const inWork = async () => engineInfo.parse(await ask('GET', '/')).turns;
  await ask('POST', '/turns', turn);
  expect(await inWork()).toEqual([turn.id]);
  expect(await ask('POST', `/turns/${turn.id}/interrupt`)).toEqual({ interrupted: true });
  await expect.poll(inWork).toEqual([]);
  expect(await ask('POST', `/turns/${turn.id}/interrupt`)).toEqual({ interrupted: false });
});

async function ask(method: string, target: string, body?: object): Promise<unknown> {
  const connection = await driver.connect('one', 'engine');
  const { body: answer } = await callEngine({
    connect: async () => connection,
    secret: 'secret',
    signal: AbortSignal.timeout(10_000),
    method,
    path: target,
    body,
  });
  return answer;
}
