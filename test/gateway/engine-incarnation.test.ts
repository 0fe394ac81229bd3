import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { engineVariables } from '../../src/engine/place.ts';
import { createFakeDriver } from '../../src/runtime/fake/driver.ts';
import { bootPlan, createEngineFolder, ofType, until } from '../engine/engine-folder.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

const pauses = (times: readonly number[]) => times.slice(1).map((time, index) => time - (times[index] ?? 0));

describe('an engine whose incarnation is not the present one', () => {
  test('keeps its events, asks ever more seldom, and the next incarnation sends them', async () => {
    const folder = createEngineFolder();
    cleanups.push(folder.close);
    const gateway = await folder.openGateway();
    const times: number[] = [];
    gateway.intercept = () => {
      times.push(performance.now());
      return { status: 409, acked: 0 };
    };
    const engine = await folder.start({ incarnation: 1 });
    await engine.request('PUT', '/boot', bootPlan());
    await until(() => times.length >= 5, 'the engine has asked five times');
    const [, , third = 0, fourth = 0] = pauses(times);
    expect([third, fourth].every((pause) => pause > 100)).toBe(true);
    await engine.kill();
    gateway.intercept = null;
    await folder.start({ incarnation: 2 });
    await until(() => ofType(gateway.events, 'engine.started').length === 2, 'both starts were reported');
    expect(ofType(gateway.events, 'boot.finished')).toHaveLength(1);
  });

  test('of the fake does the same', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'replica-fake-'));
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
    const taken: { seq: number; type: string }[] = [];
    const times: number[] = [];
    const server = createServer(async (request, response) => {
      if (request.method === 'POST') {
        const { incarnation, events } = (await json(request)) as {
          incarnation: number;
          events: typeof taken;
        };
        if (incarnation === 2) taken.push(...events);
        else {
          times.push(performance.now());
          response.statusCode = 409;
        }
      }
      response.end(JSON.stringify({ acked: taken.length }));
    });
    server.listen(path.join(folder, 'gateway.sock'));
    await once(server, 'listening');
    cleanups.push(() => {
      server.close();
      server.closeAllConnections();
    });
    const driver = createFakeDriver({ gatewayFolder: folder });
    const spec = (incarnation: number) => ({
      limits: { cpus: 1, memoryMiB: 512, diskMiB: 512, processes: 64 },
      layers: [],
      engineEnvironment: {
        [engineVariables.secret]: 'secret',
        [engineVariables.incarnation]: String(incarnation),
      },
    });
    cleanups.push(() => driver.destroy('one'));
    await driver.create('one', spec(1));
    await expect.poll(() => times.length).toBeGreaterThan(3);
    expect(pauses(times).every((pause) => pause > 50)).toBe(true);
    await driver.suspend('one');
    await driver.resume('one', spec(2));
    await expect.poll(() => taken.map(({ seq }) => seq)).toEqual([1, 2]);
  });
});
