import type { Dirent } from 'node:fs';
import path from 'node:path';
import { listFolder } from './list-folder.ts';
import { makeOwnFolder } from './make-own-folder.ts';
import {
  createFileSegment,
  createMemorySegment,
  openFileSegment,
  SEGMENT_BYTES,
  type Segment,
  segmentName,
} from './outbox-segment.ts';
import { discard, setAside } from './set-aside.ts';

/** More than the engine ever leaves behind; above it somebody else has filled the folder. */
const MAX_SEGMENTS = 256;
/** As many are sent within seconds, and everything that is reported at the start of the workspace comes after them. */
const MAX_LEFT_EVENTS = 500_000;
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
export function openOutboxLog(options: {
  folder: string;
  acked: number;
  /** Told what was left and cannot be sent. */
  warn(sentence: string): void;
}): OutboxLog {
  const { folder, acked } = options;
  let segments = openSegments(options);
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

function openSegments({ folder, warn }: { folder: string; warn(sentence: string): void }): Segment[] {
  const entries = listOrSetAside(folder);
  const lost: string[] = [];
  const segments: Segment[] = [];
  let events = 0;
  for (const name of (entries ?? []).map((entry) => entry.name).sort()) {
    const segment = openOrNothing(folder, name);
    if (segment && events + segment.count <= MAX_LEFT_EVENTS) {
      events += segment.count;
      segments.push(segment);
      continue;
    }
    segment?.close();
    lost.push(name);
  }
  for (const name of lost) discard(path.join(folder, name), { beside: folder });
  if (!entries || lost.length > 0) warn(LOST_REPORTS);
  return segments;
}

const LOST_REPORTS =
  'Reports that were waiting on the disk are lost: something in the workspace has changed ~/.replica/engine/outbox.';

/** Null when something else stood in its place, or somebody had filled it; it starts anew then. */
function listOrSetAside(folder: string): Dirent[] | null {
  try {
    makeOwnFolder(folder);
    const entries = listFolder(folder, MAX_SEGMENTS);
    if (entries) return entries;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Where nothing can be written, events wait in memory.
    if (code !== 'ENOTDIR' && code !== 'ELOOP') return [];
  }
  try {
    setAside(folder);
    return null;
  } catch {
    return [];
  }
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
    if (code === 'EEXIST') discard(path.join(folder, segmentName(first)), { beside: folder });
    makeOwnFolder(folder);
    return createFileSegment(folder, first);
  }
}
