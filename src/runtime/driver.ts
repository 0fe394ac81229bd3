import type { Duplex } from 'node:stream';

/** A sandbox's name for its driver: the id of its row, so that asking twice is asking for the same one. */
export type SandboxKey = string;

/** What a sandbox is made and started with. The same spec is given again to resume it. */
export type SandboxSpec = {
  limits: SandboxLimits;
  /** Snapshots its disk starts from, newest first; none for an empty disk. Fixed at creation. */
  layers: readonly string[];
  /** Variables of the engine's process and nothing else; those of the workspace come later, over the engine. */
  engineEnvironment: Readonly<Record<string, string>>;
};

export type SandboxLimits = { cpus: number; memoryMiB: number; diskMiB: number; processes: number };

export type SandboxState =
  /** Nothing of it exists. */
  | 'absent'
  /** Its disk exists and no process runs. */
  | 'stopped'
  /** Its engine's process runs; whether it answers is for the engine's client to find out. */
  | 'running';

export type Enforcement = 'hard' | 'soft' | 'none';

/** What was really tried on this machine, not what the documentation promises. */
export type Probe = {
  /** Why this driver cannot work here and what to do about it; empty when it can. */
  problems: readonly string[];
  /** What works less well than it could, and what to do about it. */
  warnings: readonly string[];
  isolation: 'namespaces' | 'none';
  /** The user a sandbox's root is outside: a range of its own, or the user that runs the service. */
  identity: 'own_range' | 'service_user' | 'none';
  base: 'host' | 'rootfs' | 'none';
  limits: { cpus: Enforcement; memory: Enforcement; disk: Enforcement; processes: Enforcement };
  /** Whether the gateway is the only way out. */
  network: 'gateway_only' | 'unrestricted';
  snapshots: boolean;
};

/** The disk of a sandbox is gone or unreadable: it can only be built anew. */
export class SandboxLostError extends Error {
  override name = 'SandboxLostError';
}

/**
 * Makes sandboxes. Every call may be repeated after a crash at any line of it and then completes what is missing; calls
 * for one key come one at a time, calls for different keys at once. Exec, files and terminals go through the engine.
 */
export type Driver = {
  readonly name: string;
  probe(): Promise<Probe>;
  /** Makes the disk and starts the engine. Changes nothing when it already runs; `SandboxLostError` when a layer is gone. */
  create(key: SandboxKey, spec: SandboxSpec, signal?: AbortSignal): Promise<void>;
  observe(key: SandboxKey): Promise<SandboxState>;
  /** Ends every process and keeps the disk. */
  suspend(key: SandboxKey): Promise<void>;
  /** Starts the engine on the disk that is there; `SandboxLostError` when there is none. */
  resume(key: SandboxKey, spec: SandboxSpec, signal?: AbortSignal): Promise<void>;
  /** Turns the disk of a stopped sandbox into a layer of that name; the sandbox is absent afterwards. */
  snapshot(key: SandboxKey, layer: string): Promise<void>;
  /** Whether a layer of that name can be started from. */
  hasLayer(layer: string): Promise<boolean>;
  /** Removes a layer, or lets it go with the last sandbox that stands on it. */
  removeLayer(layer: string): Promise<void>;
  /** Ends every process and removes every trace; succeeds in every state, also on remains of a half-made sandbox. */
  destroy(key: SandboxKey): Promise<void>;
  /** A connection to the engine, or to a port that listens on the sandbox's loopback. */
  connect(key: SandboxKey, target: 'engine' | { port: number }, signal?: AbortSignal): Promise<Duplex>;
  /** Everything of this driver that exists, with what is left of half-made and half-removed ones. */
  list(): Promise<{ sandboxes: { key: SandboxKey; state: SandboxState }[]; layers: string[] }>;
  /** Lets go of what this process holds; sandboxes go on running. */
  close(): Promise<void>;
};
