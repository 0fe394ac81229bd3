import type { Duplex } from 'node:stream';
import type { EngineReport, RepositoryState } from '../../engine/protocol.ts';
import type { FakeEngine } from './engine.ts';

/** Stands for the machine: what outlives a driver, so that a second driver on it finds what the first one made. */
export type FakeMachine = { sandboxes: Map<string, FakeSandbox>; layers: Map<string, FakeDisk> };

export type FakeSandbox = {
  disk: FakeDisk;
  /** Null while the sandbox is stopped. */
  engine: FakeEngine | null;
  /** What listens on its loopback. */
  ports: Map<number, (stream: Duplex) => void>;
};

export type FakeDisk = {
  files: Map<string, string>;
  repositories: Map<string, RepositoryState>;
  outbox: { lastSeq: number; waiting: FakeReport[] };
};

/** Numbered when it is sent for the first time, and never anew unless the gateway says that it misses one before. */
export type FakeReport = { at: string; report: EngineReport; seq: number | null };

export function createFakeMachine(): FakeMachine {
  return { sandboxes: new Map(), layers: new Map() };
}

/** Reports stay with the sandbox that made them; everything else is copied. */
export function copyDisk(from?: FakeDisk): FakeDisk {
  return {
    files: new Map(from?.files),
    repositories: new Map(from?.repositories),
    outbox: { lastSeq: 0, waiting: [] },
  };
}
