import type { LiveService } from './live-service.ts';
import type { TableRow } from './table.ts';

/** How much is measured. */
export type Scale = {
  /** Starts and wakes of each kind. */
  samples: number;
  /** Idle replicas whose memory is measured, and over which the streams are spread. */
  fleet: number;
  streams: number;
  /** Events that each of those replicas produces. */
  events: number;
  /** Replicas that are created at once. */
  crowd: number;
};

export type ReplicaBench = {
  live: LiveService;
  scale: Scale;
  isVerbose: boolean;
  signal: AbortSignal;
};

/** One part of the bench. It leaves no replica behind. */
export type BenchPart = (bench: ReplicaBench) => Promise<TableRow[]>;
