/**
 * A FAKE. It makes no sandbox: disks, layers and states are values in memory, and the engine behind `connect` is a fake too
 * (engine.ts), which speaks the real protocol and runs nothing. It ships for tests and demonstrations of the control
 * plane, which can have any number of "sandboxes" in it at once and see them fail when told to.
 */
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type Driver, type Probe, SandboxLostError, type SandboxSpec, type SandboxState } from '../driver.ts';
import { startFakeEngine } from './engine.ts';
import { copyDisk, createFakeMachine, type FakeMachine, type FakeSandbox } from './machine.ts';
import { openPort } from './port.ts';

export type FakeDriverOptions = {
  /** Holds `gateway.sock`, to which the engines post. */
  gatewayFolder: string;
  /** Give the same one to two drivers to have them on one machine. */
  machine?: FakeMachine;
  now?: () => Date;
};

export type FakeOperation = Exclude<keyof Driver, 'name' | 'close'>;

export type FakeDriver = Driver & {
  /** How long each operation takes. */
  delayMs: number;
  /** Makes the next such operation fail: before it changes anything, or after it has changed everything. */
  failNext(operation: FakeOperation, error: Error, when?: 'before' | 'after'): void;
  /** Takes the disk away, and the engine with it, as a broken drive would. */
  lose(key: string): void;
  /** Ends the engine and keeps the disk, as a kill from outside would. */
  crash(key: string): void;
  /** Has something listen on the loopback of a sandbox. */
  listen(key: string, port: number, onConnection: (stream: Duplex) => void): void;
};

export function createFakeDriver(options: FakeDriverOptions): FakeDriver {
  const { gatewayFolder, now = () => new Date() } = options;
  const { sandboxes, layers } = options.machine ?? createFakeMachine();
  const faults: { operation: FakeOperation; error: Error; when: 'before' | 'after' }[] = [];

  /** Every operation takes its time and may have been told to fail. */
  async function perform<T>(operation: FakeOperation, work: () => T, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (driver.delayMs > 0) await delay(driver.delayMs, undefined, signal && { signal });
    const index = faults.findIndex((fault) => fault.operation === operation);
    const [fault] = index < 0 ? [] : faults.splice(index, 1);
    if (fault?.when === 'before') throw fault.error;
    const result = work();
    if (fault) throw fault.error;
    return result;
  }

  function start(sandbox: FakeSandbox, spec: SandboxSpec): void {
    const { disk, ports } = sandbox;
    sandbox.engine ??= startFakeEngine({
      environment: spec.engineEnvironment,
      disk,
      ports,
      gatewayFolder,
      now,
    });
  }

  function stop(key: string): void {
    const sandbox = sandboxes.get(key);
    if (!sandbox) return;
    sandbox.engine?.stop();
    sandbox.engine = null;
    sandbox.ports.clear();
  }

  function make({ layers: [newest] }: SandboxSpec): FakeSandbox {
    const layer = newest === undefined ? undefined : layers.get(newest);
    if (newest !== undefined && !layer) throw new SandboxLostError(`The layer ${newest} is gone.`);
    return { disk: copyDisk(layer), engine: null, ports: new Map() };
  }

  function running(key: string): FakeSandbox & { engine: NonNullable<FakeSandbox['engine']> } {
    const sandbox = sandboxes.get(key);
    if (!sandbox?.engine) throw new Error(`Sandbox ${key} is not running.`);
    return { ...sandbox, engine: sandbox.engine };
  }

  const driver: FakeDriver = {
    name: 'fake',
    delayMs: 0,
    probe: () => perform('probe', () => fakeProbe),
    observe: (key) => perform('observe', () => stateOf(sandboxes.get(key))),
    suspend: (key) => perform('suspend', () => stop(key)),
    hasLayer: (layer) => perform('hasLayer', () => layers.has(layer)),
    removeLayer: (layer) => perform('removeLayer', () => void layers.delete(layer)),
    close: async () => undefined,

    create: (key, spec, signal) =>
      perform(
        'create',
        () => {
          const sandbox = sandboxes.get(key) ?? make(spec);
          sandboxes.set(key, sandbox);
          start(sandbox, spec);
        },
        signal,
      ),

    resume: (key, spec, signal) =>
      perform(
        'resume',
        () => {
          const sandbox = sandboxes.get(key);
          if (!sandbox) throw new SandboxLostError(`Sandbox ${key} has no disk.`);
          start(sandbox, spec);
        },
        signal,
      ),

    snapshot: (key, layer) =>
      perform('snapshot', () => {
        const sandbox = sandboxes.get(key);
        if (!sandbox && layers.has(layer)) return;
        if (!sandbox) throw new SandboxLostError(`Sandbox ${key} has no disk to keep.`);
        if (sandbox.engine) throw new Error(`Sandbox ${key} is running: suspend it before the snapshot.`);
        if (layers.has(layer)) throw new Error(`A layer named ${layer} already exists.`);
        layers.set(layer, copyDisk(sandbox.disk));
        sandboxes.delete(key);
      }),

    destroy: (key) =>
      perform('destroy', () => {
        stop(key);
        sandboxes.delete(key);
      }),

    connect: (key, target, signal) =>
      perform(
        'connect',
        () => {
          const { engine, ports } = running(key);
          return target === 'engine' ? engine.connect() : openPort(ports, target.port);
        },
        signal,
      ),

    list: () =>
      perform('list', () => ({
        sandboxes: [...sandboxes].map(([key, sandbox]) => ({ key, state: stateOf(sandbox) })),
        layers: [...layers.keys()],
      })),

    failNext(operation, error, when = 'before') {
      faults.push({ operation, error, when });
    },
    lose(key) {
      stop(key);
      sandboxes.delete(key);
    },
    crash: stop,
    listen(key, port, onConnection) {
      running(key).ports.set(port, onConnection);
    },
  };
  return driver;
}

function stateOf(sandbox: FakeSandbox | undefined): SandboxState {
  if (!sandbox) return 'absent';
  return sandbox.engine ? 'running' : 'stopped';
}

const fakeProbe: Probe = {
  problems: [],
  warnings: [
    'This driver is a fake: it makes no sandbox and runs nothing. Choose another one for real work.',
  ],
  isolation: 'none',
  identity: 'none',
  base: 'none',
  limits: { cpus: 'none', memory: 'none', disk: 'none', processes: 'none' },
  network: 'unrestricted',
  snapshots: true,
};
