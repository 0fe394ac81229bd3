import type { ChildProcess } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { Driver, SandboxSpec } from '../../src/runtime/driver.ts';
import { createNamespaceDriver, type NamespaceDriverOptions } from '../../src/runtime/namespace/driver.ts';
import { createLayout } from '../../src/runtime/namespace/layout.ts';
import { identify } from '../../src/runtime/namespace/processes.ts';
import { standInEngine } from './namespace-engine.ts';

export const secret = 'a-secret-of-the-engine';

/** Why sandboxes of root cannot be tried here. */
export const obstacle =
  process.platform !== 'linux'
    ? 'this is not Linux'
    : process.getuid?.() !== 0
      ? 'the tests do not run as root'
      : !existsSync('/usr/bin/bwrap')
        ? 'bubblewrap is not installed'
        : undefined;

export type NamespaceWorld = Awaited<ReturnType<typeof createNamespaceWorld>>;

/** A driver of its own in a folder that only root can enter, with a gateway's socket and the stand-in engine. */
export async function createNamespaceWorld() {
  const folder = mkdtempSync(path.join(tmpdir(), 'replica-namespace-'));
  const gatewayFolder = path.join(folder, 'gateway');
  mkdirSync(gatewayFolder);
  chmodSync(gatewayFolder, 0o755);
  const gateway = createServer((socket) => socket.end('gateway'));
  await new Promise<void>((resolve) => gateway.listen(path.join(gatewayFolder, 'gateway.sock'), resolve));
  chmodSync(path.join(gatewayFolder, 'gateway.sock'), 0o666);
  const bundle = path.join(folder, 'engine.mjs');
  writeFileSync(bundle, standInEngine);
  const options: NamespaceDriverOptions = {
    root: path.join(folder, 'root'),
    engine: { bundle, node: process.execPath, compileCache: null },
    gatewayFolder,
    base: { kind: 'host' },
  };
  const driver = createNamespaceDriver(options);
  return {
    folder,
    options,
    driver,
    run: (key: string, command: string) => runInside(driver, key, command),

    /** Removes everything, and says what was left of the sandboxes after they were destroyed. */
    async end(): Promise<string[]> {
      const { sandboxes, layers } = await driver.list();
      for (const { key } of sandboxes) await driver.destroy(key);
      for (const layer of layers) await driver.removeLayer(layer);
      await driver.close();
      await new Promise((resolve) => gateway.close(resolve));
      const left = await findRemains(options.root);
      rmSync(folder, { recursive: true, force: true });
      return left;
    },
  };
}

export function specOf(changes: Partial<SandboxSpec['limits']> = {}, layers: string[] = []): SandboxSpec {
  return {
    limits: { cpus: 2, memoryMiB: 512, diskMiB: 256, processes: 128, ...changes },
    layers,
    engineEnvironment: { REPLICA_ENGINE_SECRET: secret },
  };
}

export type Outcome = { code: number | string; output: string };

/** Runs a command inside, through the engine. */
export async function runInside(driver: Driver, key: string, command: string): Promise<Outcome> {
  const connection = await driver.connect(key, 'engine');
  try {
    return await new Promise<Outcome>((resolve, reject) => {
      const asked = request({
        method: 'POST',
        host: 'engine',
        headers: { authorization: `Bearer ${secret}` },
        createConnection: () => connection,
        signal: AbortSignal.timeout(30_000),
      });
      asked.once('error', reject);
      asked.once('response', (answer) => {
        text(answer).then((body) => resolve(JSON.parse(body)), reject);
      });
      asked.end(command);
    });
  } finally {
    connection.destroy();
  }
}

/** What a driver with this root has on the machine besides its folders for bases and layers. */
export async function findRemains(root: string): Promise<string[]> {
  const { groupName, sandboxes, layers } = createLayout(root);
  const look = () => [
    ...list(sandboxes),
    ...list(layers),
    ...list('/sys/fs/cgroup')
      .flatMap((tree) => [
        path.join('/sys/fs/cgroup', tree, groupName),
        path.join('/sys/fs/cgroup', groupName),
      ])
      .filter((group) => list(group).some((name) => name.startsWith('sandbox-'))),
    ...list('/sys/block').filter((name) => read(`/sys/block/${name}/loop/backing_file`).includes(root)),
    ...list('/proc')
      .filter((name) => /^\d+$/.test(name) && identify(Number(name)) !== undefined)
      .filter((name) => read(`/proc/${name}/cgroup`).includes(groupName)),
    ...readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .filter((line) => line.includes(root)),
  ];
  // The kernel detaches the device of a file system a moment after it was unmounted.
  const deadline = performance.now() + 5_000;
  while (look().length > 0 && performance.now() < deadline) await delay(10);
  return look();
}

/** Kills a process as soon as the file is there; one that ends before is as good. */
export async function killWhen(child: ChildProcess, file: string): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const deadline = performance.now() + 20_000;
  while (!existsSync(file) && child.exitCode === null && performance.now() < deadline)
    await new Promise((resolve) => setImmediate(resolve));
  child.kill('SIGKILL');
  await ended;
}

/** What a user has running, dead ones apart. */
export function listProcessesOf(uid: number): string[] {
  return list('/proc')
    .filter((name) => /^\d+$/.test(name) && identify(Number(name)) !== undefined)
    .filter((name) => new RegExp(`^Uid:\\s+${uid}\\s`, 'm').test(read(`/proc/${name}/status`)));
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
