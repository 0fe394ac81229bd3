import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { engineVariables, place } from '../../src/engine/place.ts';
import type { Driver } from '../../src/runtime/driver.ts';
import { engineBundle } from '../../src/runtime/engine-bundle.ts';
import { createFakeDriver } from '../../src/runtime/fake/driver.ts';
import { createFakeMachine } from '../../src/runtime/fake/machine.ts';
import { type DriverName, openDriver } from '../../src/runtime/registry.ts';
import { engineOf, runInside } from './engine-call.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** A driver on a folder of its own, with what the tests do to it from outside. */
export type Stage = {
  name: DriverName;
  driver: Driver;
  /** A second driver on the same folder, as another process of the service has it. */
  openAnother(): Promise<Driver>;
  killEngine(key: string): void;
  /** Has something inside say `hello` to whoever connects to a port, and gives the port. */
  listenInside(key: string): Promise<number>;
  remove(): Promise<void>;
};

export async function createStage(name: DriverName): Promise<Stage> {
  return name === 'fake' ? createFakeStage() : createRealStage(name);
}

async function createRealStage(name: 'namespace' | 'process'): Promise<Stage> {
  execFileSync(process.execPath, [path.join(root, 'script/build-engine.ts')]);
  const engine = engineBundle();
  const dataDir = mkdtempSync(path.join(tmpdir(), `replica-${name}-`));
  const gatewayFolder = mkdtempSync(path.join(tmpdir(), 'replica-gateway-'));
  const open = () =>
    openDriver({ name, acceptsNoIsolation: true, dataDir, base: 'auto', engine, gatewayFolder });
  const driver = await open();
  const node = name === 'namespace' ? place.node : process.execPath;
  return {
    name,
    driver,
    openAnother: open,
    killEngine: (key) => killWithVariable(`${engineVariables.sandboxId}=${key}`),
    async listenInside(key) {
      const port = await findFreePort();
      const script = `require('net').createServer((s) => s.end('hello')).listen(${port}, '127.0.0.1')`;
      await engineOf(driver, key);
      await runInside(driver, key, `exec ${node} -e "${script}"`);
      return port;
    },
    async remove() {
      const { sandboxes, layers } = await driver.list();
      for (const { key } of sandboxes) await driver.destroy(key);
      for (const layer of layers) await driver.removeLayer(layer);
      await driver.close();
      for (const folder of [dataDir, gatewayFolder]) rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function createFakeStage(): Promise<Stage> {
  const machine = createFakeMachine();
  const gatewayFolder = mkdtempSync(path.join(tmpdir(), 'replica-gateway-'));
  const driver = createFakeDriver({ machine, gatewayFolder });
  return {
    name: 'fake',
    driver,
    openAnother: async () => createFakeDriver({ machine, gatewayFolder }),
    killEngine: driver.crash,
    async listenInside(key) {
      driver.listen(key, 4000, (stream) => stream.end('hello'));
      return 4000;
    },
    async remove() {
      for (const key of machine.sandboxes.keys()) await driver.destroy(key);
      rmSync(gatewayFolder, { recursive: true, force: true });
    },
  };
}

/** How many processes of this machine run a command, also those inside sandboxes. */
export function countProcesses(command: string): number {
  return processIds().filter((pid) => readWords(pid, 'cmdline').join(' ').trim() === command).length;
}

/** The engine carries the id of its sandbox in its environment, wherever it runs. */
function killWithVariable(variable: string): void {
  for (const pid of processIds()) {
    if (readWords(pid, 'environ').includes(variable)) process.kill(Number(pid), 'SIGKILL');
  }
}

function processIds(): string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
}

function readWords(pid: string, file: 'cmdline' | 'environ'): string[] {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address ? address.port : 0;
}
