import { execFile, execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLayout } from '../../src/runtime/namespace/layout.ts';
import {
  createNamespaceWorld,
  findRemains,
  killWhen,
  listProcessesOf,
  type NamespaceWorld,
  obstacle,
} from './namespace-world.ts';

const maker = path.join(import.meta.dirname, 'namespace-maker-process.ts');
/** A user and group that nobody has. */
const someone = '61234';
const asSomeone = ['setpriv', '--reuid', someone, '--regid', someone, '--clear-groups', '--inh-caps=-all'];

const hindrance = obstacle ?? findHindrance();
const title = hindrance
  ? `namespace driver as an ordinary user (skipped: ${hindrance})`
  : 'namespace driver as an ordinary user';

describe.skipIf(hindrance !== undefined)(title, () => {
  let world: NamespaceWorld;
  beforeEach(async () => {
    world = await createNamespaceWorld();
    execFileSync('chown', ['-R', `${someone}:${someone}`, world.folder]);
  });
  afterEach(async () => {
    expect(await world.end()).toEqual([]);
  });

  const make = async (action: string) => {
    const [program = '', ...args] = [
      ...asSomeone,
      process.execPath,
      maker,
      JSON.stringify(world.options),
      action,
      'one',
    ];
    const { stdout } = await promisify(execFile)(program, args, {
      cwd: '/',
      env: { PATH: process.env.PATH ?? '' },
    });
    return JSON.parse(stdout);
  };

  // Without control groups only the records and the mark in its environment lead to what was started.
  test.each(['mounts', 'process.json', 'engine.sock'])(
    'whoever is killed when %s has appeared leaves nothing that destroy cannot deal with',
    async (name) => {
      const [program = '', ...args] = [
        ...asSomeone,
        process.execPath,
        maker,
        JSON.stringify(world.options),
        'create',
        'one',
      ];
      const { folder } = createLayout(world.options.root).sandbox('one');
      await killWhen(spawn(program, args, { cwd: '/', stdio: 'ignore' }), path.join(folder, name));
      await make('destroy');
      // A helper that was about to end by itself may take a moment.
      await expect.poll(() => listProcessesOf(Number(someone)), { timeout: 2_000 }).toEqual([]);
      await expect.poll(() => findRemains(world.options.root), { timeout: 10_000 }).toEqual([]);
    },
  );

  test('whoever is killed before the first process inside is on record leaves nothing that destroy does not find', async () => {
    await make('create');
    const { process: file } = createLayout(world.options.root).sandbox('one');
    const record = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...record, phase: 'starting', init: null, engine: null }));
    expect(listProcessesOf(Number(someone))).not.toEqual([]);
    await make('destroy');
    expect(listProcessesOf(Number(someone))).toEqual([]);
  });

  test('the probe says what an ordinary user goes without', async () => {
    expect(await make('probe')).toMatchObject({
      problems: [],
      isolation: 'namespaces',
      identity: 'service_user',
      limits: { cpus: 'none', memory: 'none', disk: 'none', processes: 'hard' },
      network: 'gateway_only',
      snapshots: true,
      warnings: expect.arrayContaining([expect.stringContaining('run the service as root')]),
    });
  });

  test('a sandbox lives, is suspended, becomes a layer, and goes without a trace', async () => {
    const { first, forks, watchers, second, left } = await make('live');
    // Itself and the first process inside, the engine, and the commands; none of the host's.
    expect(first.output.split('\n')[0]).toBe('0');
    expect(Number(first.output.split('\n')[1])).toBeLessThan(10);
    expect(forks.output).toMatch(/fork|Resource temporarily unavailable/);
    expect(Number(watchers.output)).toBeGreaterThan(0);
    expect(Number(watchers.output)).toBeLessThanOrEqual(1_024);
    expect(second.output).toBe('kept\n3\n');
    expect(left).toEqual({ sandboxes: [], layers: [] });
  });
});

/** Why an ordinary user cannot try it here. */
function findHindrance(): string | undefined {
  try {
    execFileSync('setpriv', [...asSomeone.slice(1), 'test', '-r', maker], { stdio: 'ignore' });
  } catch {
    return 'another user cannot read the sources';
  }
  try {
    execFileSync('setpriv', [...asSomeone.slice(1), 'unshare', '--user', '--map-root-user', 'true'], {
      stdio: 'ignore',
    });
  } catch {
    return 'ordinary users have no user namespaces here';
  }
  return undefined;
}
