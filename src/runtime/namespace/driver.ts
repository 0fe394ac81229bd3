import { rm } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { makeFolder } from '../../lib/make-folder.ts';
import { type Driver, SandboxLostError, type SandboxSpec, type SandboxState } from '../driver.ts';
import { openTunnel } from '../tunnel.ts';
import { type Base, prepareBase } from './bases.ts';
import { createDisks } from './disks.ts';
import { endProcesses } from './end-processes.ts';
import { readEngineLog } from './engine-log.ts';
import { connectEngine } from './engine-socket.ts';
import { createGroups } from './groups.ts';
import { createLayers } from './layers.ts';
import { createLayout } from './layout.ts';
import { readMachine } from './machine.ts';
import { probeMachine } from './probe.ts';
import { isAlive } from './processes.ts';
import { processRecord, readRecord, type SandboxRecord, sandboxRecord, writeRecord } from './records.ts';
import { removeTree } from './remove-tree.ts';
import type { ReadOnlyMount } from './stage.ts';
import { createStarter, type EngineFiles } from './start.ts';

export type NamespaceDriverOptions = {
  /** A folder of its own, in which everything of the driver is. */
  root: string;
  engine: EngineFiles;
  /** The folder with `gateway.sock`. It is shown as a folder, so that a socket put in the place of another is seen. */
  gatewayFolder: string;
  base: Base;
  /** What else is shown read-only. */
  readOnly?: readonly ReadOnlyMount[];
  log?: Logger;
};

const connectTimeoutMs = 30_000;

/**
 * Sandboxes of bubblewrap, overlayfs and control groups on this machine.
 *
 * Each has a folder under the root with its disk and its records. All its mounts are in a mount namespace of its own, so
 * they are gone with its last process and there is nothing to take down. Its processes outlive this one and are found
 * again by number and start time, by a mark in their environment while they start, and through their groups in any case.
 */
export function createNamespaceDriver(options: NamespaceDriverOptions): Driver {
  const layout = createLayout(options.root);
  const machine = readMachine();
  const groups = createGroups({ layout, machine });
  const disks = createDisks({ layout, machine });
  const layers = createLayers({ layout, machine, disks });
  const parts = { layout, machine, groups, disks, layers };
  const start = createStarter(parts, { ...options, readOnly: options.readOnly ?? [] });

  /** The record of a sandbox that has a disk. */
  async function find(key: string): Promise<SandboxRecord | undefined> {
    const paths = layout.sandbox(key);
    const record = await readRecord(paths.record, sandboxRecord);
    return record && disks.has(paths, record.disk) ? record : undefined;
  }

  async function observe(key: string): Promise<SandboxState> {
    if (!(await find(key))) return 'absent';
    const started = await readRecord(layout.sandbox(key).process, processRecord);
    const runs =
      started?.phase === 'running' &&
      started.bootId === machine.bootId &&
      started.init !== null &&
      isAlive(started.init) &&
      (started.engine === null || isAlive(started.engine));
    return runs ? 'running' : 'stopped';
  }

  async function makeSandbox(key: string, spec: SandboxSpec): Promise<SandboxRecord> {
    const paths = layout.sandbox(key);
    const chain = await layers.chain(spec.layers);
    if (!Array.isArray(chain)) throw new SandboxLostError(`The layer ${chain.missing} does not exist.`);
    makeFolder(paths.folder);
    const base = chain[0]?.record.base ?? (await prepareBase(options.base, parts));
    const record = { key, base, disk: machine.disk, layers: chain.map(({ id }) => id) };
    await writeRecord(paths.record, record, { durable: true });
    // Whoever removes a layer marks it before looking for its users: one of the two sees the other.
    const again = await layers.chain(spec.layers);
    if (!Array.isArray(again))
      throw new SandboxLostError(`The layer ${again.missing} was removed meanwhile.`);
    await disks.make(paths, { kind: record.disk, sizeMiB: spec.limits.diskMiB });
    return record;
  }

  async function stop(key: string): Promise<void> {
    const paths = layout.sandbox(key);
    await endProcesses(key, { paths, ...parts });
    await disks.release(paths);
  }

  async function destroy(key: string): Promise<void> {
    const paths = layout.sandbox(key);
    await endProcesses(key, { paths, ...parts });
    // An image that somebody on the machine still looks at goes when they let go.
    await disks.release(paths).catch((err: unknown) => options.log?.warn({ sandbox: key, err }));
    // Without its record it is no longer a sandbox, however much of it is left when this is interrupted.
    await rm(paths.record, { force: true });
    await removeTree(paths.folder, machine);
    await layers.collect();
  }

  async function create(key: string, spec: SandboxSpec, how: Parameters<typeof start>[2]): Promise<void> {
    how.signal?.throwIfAborted();
    if ((await observe(key)) === 'running') return;
    const began = performance.now();
    const record = (await find(key)) ?? (await makeSandbox(key, spec));
    await start(record, spec, how);
    options.log?.debug({ sandbox: key, ms: Math.round(performance.now() - began) }, 'sandbox created');
  }

  const driver: Driver = {
    name: 'namespace',
    observe,
    destroy,
    create: (key, spec, signal) => create(key, spec, { signal }),

    probe: () =>
      probeMachine({
        ...parts,
        ...options,
        driver,
        create: (key, spec, command) => create(key, spec, { command }),
      }),

    async suspend(key) {
      await stop(key);
    },

    async resume(key, spec, signal) {
      if ((await observe(key)) === 'running') return;
      const record = await find(key);
      if (!record || !(await disks.isReadable(layout.sandbox(key), record.disk)))
        throw new SandboxLostError(`The disk of the sandbox ${key} is gone.`);
      await start(record, spec, { signal });
    },

    async snapshot(key, layer) {
      const record = await find(key);
      const made = await layers.find(layer);
      if (made && (record || made.record.from !== key)) throw new Error(`The layer ${layer} exists already.`);
      if (!made) {
        if (!record) throw new SandboxLostError(`The sandbox ${key} has no disk to make a layer of.`);
        if ((await observe(key)) === 'running')
          throw new Error(`The sandbox ${key} runs: suspend it before it is made a layer.`);
        await stop(key);
        await layers.adopt(layout.sandbox(key), record, layer);
      }
      await destroy(key);
    },

    hasLayer: async (layer) => (await layers.find(layer)) !== undefined,
    removeLayer: (layer) => layers.remove(layer),

    async connect(key, target, signal): Promise<Duplex> {
      const paths = layout.sandbox(key);
      const bound = AbortSignal.any([AbortSignal.timeout(connectTimeoutMs), ...(signal ? [signal] : [])]);
      const connection = await connectEngine(paths.folder, bound).catch(async (cause: unknown) => {
        bound.throwIfAborted();
        throw new Error(await describeSilence(key), { cause });
      });
      if (target === 'engine') return connection;
      const secret = (await readRecord(paths.process, processRecord))?.secret ?? '';
      return openTunnel(connection, { port: target.port, secret, signal: bound });
    },

    async list() {
      const keys = [...new Set([...layout.listKeys(), ...groups.list()])];
      const sandboxes = await Promise.all(keys.map(async (key) => ({ key, state: await observe(key) })));
      return { sandboxes, layers: layers.list() };
    },

    async close() {
      // Nothing of a sandbox hangs on this process.
    },
  };
  return driver;

  async function describeSilence(key: string): Promise<string> {
    if ((await observe(key)) === 'running') return `The engine of the sandbox ${key} takes no connection.`;
    const record = await find(key);
    if (!record) return `The sandbox ${key} does not run.`;
    const paths = layout.sandbox(key);
    const secret = (await readRecord(paths.process, processRecord))?.secret ?? null;
    const log = await readEngineLog(paths, { disk: record.disk, secret });
    return [`The sandbox ${key} does not run.`, log].join(' ').trim();
  }
}
