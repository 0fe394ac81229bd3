/**
 * Sandboxes that are none: the engine is a plain child process of the service's own user, its disk a folder. Whatever
 * runs in it can read, change and reach everything the service can. It exists for machines where namespaces cannot be had
 * and every agent, repository and person is trusted like the operator.
 */
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { engineVariables } from '../../engine/place.ts';
import { makeFolder } from '../../lib/make-folder.ts';
import { writePrivateFile } from '../../lib/private-file.ts';
import { type Driver, type Probe, SandboxLostError, type SandboxSpec, type SandboxState } from '../driver.ts';
import { createFolders } from './folders.ts';
import { connectEngine, launchEngine } from './launch.ts';
import { endProcesses, identifyProcess, isSameProcess, type ProcessIdentity } from './process-table.ts';

const CONNECT_LIMIT_MS = 10_000;

export type ProcessDriverOptions = {
  /** Folder of everything this driver keeps. */
  root: string;
  engine: { bundle: string; node: string; compileCache: string | null };
  /** Holds `gateway.sock`. */
  gatewayFolder: string;
  agentsFolder?: string;
};

export function createProcessDriver(options: ProcessDriverOptions): Driver {
  const folders = createFolders(options.root);

  function observe(key: string): SandboxState {
    if (!folders.hasDisk(key)) return 'absent';
    const written = readIdentity(folders.sandbox(key));
    return written && isSameProcess(written, identifyProcess(written.pid)) ? 'running' : 'stopped';
  }

  async function start(key: string, spec: SandboxSpec): Promise<void> {
    const folder = folders.sandbox(key);
    const home = folders.home(key);
    // An engine that was started just before a crash, and not written down, would work on the same disk.
    await endProcesses(home);
    const pid = await launchEngine({
      folder,
      home,
      node: options.engine.node,
      bundle: options.engine.bundle,
      environment: engineEnvironment(options, home, spec),
    });
    // One that has already ended is written down as well, and observed as stopped.
    const identity = identifyProcess(pid) ?? { pid, startTicks: 0, boot: '' };
    writePrivateFile(identityFile(folder), JSON.stringify(identity));
  }

  return {
    name: 'process',

    probe: async () => probe(options),

    async create(key, spec, signal) {
      if (observe(key) === 'running') return;
      if (!folders.hasDisk(key)) await folders.makeDisk(key, spec.layers[0], signal);
      signal?.throwIfAborted();
      await start(key, spec);
    },

    observe: async (key) => observe(key),

    async suspend(key) {
      await endProcesses(folders.home(key));
    },

    async resume(key, spec, signal) {
      const state = observe(key);
      if (state === 'running') return;
      if (state === 'absent') throw new SandboxLostError(`Sandbox ${key} has no disk.`);
      signal?.throwIfAborted();
      await start(key, spec);
    },

    async snapshot(key, layer) {
      if (observe(key) === 'running')
        throw new Error(`Sandbox ${key} is running: suspend it before the snapshot.`);
      await folders.turnIntoLayer(key, layer);
    },

    hasLayer: async (layer) => folders.hasLayer(layer),
    removeLayer: (layer) => folders.removeLayer(layer),

    async destroy(key) {
      await endProcesses(folders.home(key));
      await folders.removeSandbox(key);
    },

    async connect(key, target, signal) {
      if (observe(key) !== 'running') throw new Error(`Sandbox ${key} is not running.`);
      const limit = AbortSignal.timeout(CONNECT_LIMIT_MS);
      const bounded = signal ? AbortSignal.any([signal, limit]) : limit;
      if (target === 'engine') return connectEngine(folders.sandbox(key), bounded);
      // Without a network namespace the sandbox's loopback is the machine's.
      return connectPort(target.port, bounded);
    },

    async list() {
      const { keys, layers } = await folders.list();
      return { sandboxes: keys.map((key) => ({ key, state: observe(key) })), layers };
    },

    close: async () => undefined,
  };
}

/** The machine's programs and nothing else of the service's environment, which holds its secrets. */
function engineEnvironment(
  options: ProcessDriverOptions,
  home: string,
  spec: SandboxSpec,
): Record<string, string> {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', LANG = 'C.UTF-8' } = process.env;
  const { compileCache } = options.engine;
  return {
    PATH,
    LANG,
    HOME: home,
    ...(compileCache !== null && { NODE_COMPILE_CACHE: compileCache }),
    ...spec.engineEnvironment,
    [engineVariables.home]: home,
    [engineVariables.gatewaySocket]: path.join(options.gatewayFolder, 'gateway.sock'),
    [engineVariables.gatewayPort]: '0',
    ...(options.agentsFolder && { [engineVariables.agents]: options.agentsFolder }),
  };
}

function probe({ root }: ProcessDriverOptions): Probe {
  const problems: string[] = [];
  if (!existsSync('/proc/self/stat')) {
    problems.push('The process driver finds its processes in /proc: run the service on Linux.');
  }
  try {
    makeFolder(root);
    const probe = path.join(root, 'probe');
    writePrivateFile(probe, '');
    rmSync(probe);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    problems.push(`${root} cannot be written (${reason}): choose another folder with REPLICA_DATA_DIR.`);
  }
  return {
    problems,
    warnings: [
      'Nothing is isolated: an agent can do everything the service can. Use the namespace driver for anything but trusted work.',
    ],
    isolation: 'none',
    identity: 'service_user',
    base: 'none',
    limits: { cpus: 'none', memory: 'none', disk: 'none', processes: 'none' },
    network: 'unrestricted',
    snapshots: true,
  };
}

function identityFile(folder: string): string {
  return path.join(folder, 'process.json');
}

function readIdentity(folder: string): ProcessIdentity | null {
  try {
    const value: unknown = JSON.parse(readFileSync(identityFile(folder), 'utf8'));
    if (typeof value !== 'object' || value === null) return null;
    const { pid, startTicks, boot } = value as Record<string, unknown>;
    return { pid: Number(pid), startTicks: Number(startTicks), boot: String(boot) };
  } catch {
    return null;
  }
}

async function connectPort(port: number, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port });
  try {
    await once(socket, 'connect', { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}
