import { execFile, spawn } from 'node:child_process';
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SandboxLostError } from '../../src/runtime/driver.ts';
import { createNamespaceDriver } from '../../src/runtime/namespace/driver.ts';
import { createLayout } from '../../src/runtime/namespace/layout.ts';
import {
  createNamespaceWorld,
  findRemains,
  killWhen,
  type NamespaceWorld,
  obstacle,
  specOf,
} from './namespace-world.ts';

const maker = path.join(import.meta.dirname, 'namespace-maker-process.ts');
const title = 'namespace driver after crashes and failures';

describe.skipIf(obstacle !== undefined)(obstacle ? `${title} (skipped: ${obstacle})` : title, () => {
  let world: NamespaceWorld;
  beforeEach(async () => {
    world = await createNamespaceWorld();
  });
  afterEach(async () => {
    expect(await world.end()).toEqual([]);
  });

  test('a sandbox outlives the process that made it, and another one adopts it', async () => {
    await promisify(execFile)(process.execPath, [maker, JSON.stringify(world.options), 'create', 'one']);
    expect(await world.driver.observe('one')).toBe('running');
    expect((await world.run('one', 'echo alive')).output).toBe('alive\n');
    await world.driver.suspend('one');
    expect(await world.driver.observe('one')).toBe('stopped');
  });

  // Each file appears at another step of the way.
  test.each(['sandbox.json', 'disk.img.new', 'disk.img', 'mounts', 'process.json', 'engine.sock'])(
    'whoever is killed when %s has appeared leaves nothing that destroy and create cannot deal with',
    async (name) => {
      const { folder } = createLayout(world.options.root).sandbox('one');
      for (const next of ['destroy', 'create'] as const) {
        const args = [maker, JSON.stringify(world.options), 'create', 'one'];
        await killWhen(spawn(process.execPath, args, { stdio: 'ignore' }), path.join(folder, name));
        if (next === 'create') {
          await world.driver.create('one', specOf());
          expect((await world.run('one', 'echo alive')).output).toBe('alive\n');
        }
        await world.driver.destroy('one');
        await world.driver.destroy('one');
        expect(await findRemains(world.options.root)).toEqual([]);
      }
    },
  );

  test('a start that fails says why and leaves nothing running', async () => {
    writeFileSync(world.options.engine.bundle, 'x');
    const broken = createNamespaceDriver({
      ...world.options,
      engine: { ...world.options.engine, node: '/etc/passwd' },
    });
    await expect(broken.create('one', specOf())).rejects.toThrow(/could not be started.*Permission denied/);
    expect(await world.driver.observe('one')).toBe('stopped');
    // An engine that breaks right after its start is described to whoever tries to reach it.
    writeFileSync(world.options.engine.bundle, 'throw new Error("a broken engine")');
    await world.driver.create('one', specOf()).catch(() => undefined);
    await expect.poll(() => world.driver.observe('one'), { timeout: 10_000 }).toBe('stopped');
    await expect(world.driver.connect('one', 'engine')).rejects.toThrow('a broken engine');
  });

  test('a caller that goes away in the middle of a start leaves nothing running', async () => {
    const caller = new AbortController();
    const { process: record } = createLayout(world.options.root).sandbox('one');
    const creating = world.driver.create('one', specOf(), caller.signal);
    await Promise.all([
      expect(creating).rejects.toThrow('gone'),
      expect
        .poll(() => existsSync(record), { timeout: 10_000, interval: 1 })
        .toBe(true)
        .then(() => caller.abort(new Error('gone'))),
    ]);
    expect(await world.driver.observe('one')).toBe('stopped');
    await world.driver.create('one', specOf());
    expect((await world.run('one', 'echo alive')).output).toBe('alive\n');
  });

  test('a disk that is gone or unreadable is lost', async () => {
    const { image } = createLayout(world.options.root).sandbox('one');
    await expect(world.driver.resume('one', specOf())).rejects.toThrow(SandboxLostError);
    await world.driver.create('one', specOf());
    await world.driver.suspend('one');
    writeFileSync(image, Buffer.alloc(1_000_000));
    await expect(world.driver.resume('one', specOf())).rejects.toThrow(SandboxLostError);
    renameSync(image, `${image}.away`);
    expect(await world.driver.observe('one')).toBe('absent');
    await expect(world.driver.resume('one', specOf())).rejects.toThrow(SandboxLostError);
  });
});
