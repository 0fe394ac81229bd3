import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import {
  createFileSegment,
  createMemorySegment,
  openFileSegment,
  SEGMENT_BYTES,
  type Segment,
  segmentName,
} from './outbox-segment.ts';

/** More than the engine ever leaves behind; above it somebody else has filled the folder. */
const MAX_SEGMENTS = 256;
const DISK = { pressedBytes: 64 * 1_048_576, mostBytes: 512 * 1_048_576 };
const MEMORY = { pressedBytes: 1_048_576, mostBytes: 8 * 1_048_576 };

/** The events that are not known to be taken, in order and with their numbers. */
export type OutboxLog = {
  /** The number of the last event the gateway has taken. */
  readonly acked: number;
  /** The number the next event gets. */
  readonly next: number;
  /** So much is waiting that what can be done without shall not be added. */
  readonly isPressed: boolean;
  append(line: Buffer): void;
  /** The events after `acked`, as many as fit; null in place of one that is lost. */
  unsent(limits: { events: number; bytes: number }): (Buffer | null)[];
  /** The gateway says which event it has taken last; that may be behind or ahead of what is believed here. */
  settle(acked: number): void;
  /** Puts what is waiting on the platters. */
  sync(): Promise<void>;
  close(): void;
};

/**
 * Opens what an earlier process has left in the folder. The gateway's number rules: when the folder is gone or somebody
 * has changed it, numbers go on after it, and whatever is left of the events follows it without a hole.
 */
export function openOutboxLog({ folder, acked }: { folder: string; acked: number }): OutboxLog {
  let segments = openSegments(folder);
  let taken = acked;
  let next = acked + 1;
  arrange();
  removeTaken(segments.at(-1));

  return {
    get acked() {
      return taken;
    },
    get next() {
      return next;
    },
    get isPressed() {
      const last = segments.at(-1);
      if (last?.isVolatile && last.bytes > MEMORY.pressedBytes) return true;
      return bytesKept() > DISK.pressedBytes;
    },
    append(line) {
      if (bytesKept() > DISK.mostBytes) throw new Error('too many events wait for the gateway');
      const last = segments.at(-1);
      if (last?.isVolatile) appendInMemory(last, line);
      else appendOnDisk(last, line);
      next += 1;
    },
    unsent(limits) {
      const number = taken + 1;
      const segment = segments.find(({ first, count }) => number >= first && number < first + count);
      return segment ? segment.read(number, limits) : [];
    },
    settle(number) {
      taken = number;
      arrange();
      const last = segments.at(-1);
      // A small file is used on, so that not every event makes and removes one.
      if (last && (last.isVolatile || last.bytes > SEGMENT_BYTES / 4)) removeTaken(last);
    },
    async sync() {
      for (const segment of segments) await segment.sync();
    },
    close() {
      for (const segment of segments) segment.close();
      segments = [];
    },
  };

  function bytesKept(): number {
    return segments.reduce((total, segment) => total + segment.bytes, 0);
  }

  function appendOnDisk(last: Segment | undefined, line: Buffer): void {
    try {
      const segment = last && last.bytes < SEGMENT_BYTES ? last : addSegment(makeFileSegment(folder, next));
      segment.append(line);
    } catch {
      // The disk is full or the folder cannot be written. The events that say so must get out.
      appendInMemory(addSegment(createMemorySegment(next)), line);
    }
  }

  function appendInMemory(segment: Segment, line: Buffer): void {
    if (segment.bytes + line.length > MEMORY.mostBytes) {
      throw new Error('the disk takes no events and too many wait in memory');
    }
    segment.append(line);
  }

  function addSegment(segment: Segment): Segment {
    segments.push(segment);
    return segment;
  }

  /** Closes gaps in the numbers and lets go of segments the gateway has taken whole, but for the last. */
  function arrange(): void {
    let expected: number | null = null;
    for (const segment of [...segments]) {
      const first: number = expected ?? Math.min(segment.first, taken + 1);
      if (segment.first < first) {
        drop(segment);
        continue;
      }
      if (segment.first > first) segment.renumber(first);
      expected = segment.first + segment.count;
      if (segment !== segments.at(-1) || expected <= taken) removeTaken(segment);
    }
    next = Math.max(expected ?? 0, taken + 1);
  }

  function removeTaken(segment: Segment | undefined): void {
    if (segment && segment.first + segment.count - 1 <= taken) drop(segment);
  }

  function drop(segment: Segment): void {
    segments = segments.filter((other) => other !== segment);
    segment.remove();
  }
}

function openSegments(folder: string): Segment[] {
  let names: string[] = [];
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    names = readdirSync(folder);
  } catch {
    // Something else stands in its place; events wait in memory then.
  }
  const opened = names.length > MAX_SEGMENTS ? [] : names.map((name) => openOrNothing(folder, name));
  const segments = opened.filter((segment) => segment !== null).sort((a, b) => a.first - b.first);
  for (const [index, name] of names.entries()) {
    if (!opened[index]) rmSync(path.join(folder, name), { recursive: true, force: true });
  }
  return segments;
}

function openOrNothing(folder: string, name: string): Segment | null {
  try {
    return openFileSegment(folder, name);
  } catch {
    return null;
  }
}

function makeFileSegment(folder: string, first: number): Segment {
  try {
    return createFileSegment(folder, first);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'EEXIST') throw error;
    // The folder was deleted under us, or a file put where the next one belongs.
    if (code === 'EEXIST') rmSync(path.join(folder, segmentName(first)), { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return createFileSegment(folder, first);
  }
}
