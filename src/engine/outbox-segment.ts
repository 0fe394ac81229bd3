import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';

/**
 * Consecutive events of the outbox, one per line. A line does not hold its number: line i of a segment is the event
 * `first + i`, so a segment gets other numbers by getting another first one.
 */
export type Segment = {
  readonly first: number;
  readonly count: number;
  readonly bytes: number;
  /** Whether it is gone with this process. */
  readonly isVolatile: boolean;
  /** Whole, or it throws and the segment is as before. */
  append(line: Buffer): void;
  /** Lines without their ends from that number on, at least one; null in place of one that cannot be read. */
  read(from: number, limits: { events: number; bytes: number }): (Buffer | null)[];
  /** Puts what was appended on the platters. */
  sync(): Promise<void>;
  renumber(first: number): void;
  close(): void;
  remove(): void;
};

/** A segment takes no more events from this size on. */
export const SEGMENT_BYTES = 4 * 1_048_576;
/** No segment is as large as this: the last event it takes is below the rest. */
const MOST_BYTES = 2 * SEGMENT_BYTES;
/** No file of this many lines has events in it when they are shorter than the shortest event. */
const MANY_LINES = 10_000;
const SHORTEST_EVENT_BYTES = 40;
const NAME = /^(\d{16})\.events$/;
const NEWLINE = 0x0a;

export function segmentName(first: number): string {
  return `${String(first).padStart(16, '0')}.events`;
}

export function createFileSegment(folder: string, first: number): Segment {
  const file = path.join(folder, segmentName(first));
  const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const descriptor = openSync(file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  return fileSegment({ file, descriptor, first, count: 0, bytes: 0 });
}

/** A segment an earlier process has left, without a last line that was cut off by a kill; null when it is not one. */
export function openFileSegment(folder: string, name: string): Segment | null {
  const first = Number(NAME.exec(name)?.[1] ?? 0);
  if (first < 1) return null;
  const file = path.join(folder, name);
  const descriptor = openSync(file, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const size = measureSegment(descriptor);
  if (!size) closeSync(descriptor);
  return size && fileSegment({ file, descriptor, first, ...size });
}

/** Null for what was never a segment: no plain file, one that has another name too, or one of another size or sort. */
function measureSegment(descriptor: number): { count: number; bytes: number } | null {
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.nlink > 1 || stats.size > MOST_BYTES) return null;
    const { count, bytes } = measure(descriptor);
    if (count > MANY_LINES && bytes < count * SHORTEST_EVENT_BYTES) return null;
    ftruncateSync(descriptor, bytes);
    return { count, bytes };
  } catch {
    return null;
  }
}

/** Stands in while nothing can be written, as on a full disk: it is as safe as this process is. */
export function createMemorySegment(first: number): Segment {
  const lines: Buffer[] = [];
  let start = first;
  let bytes = 0;
  return {
    isVolatile: true,
    get first() {
      return start;
    },
    get count() {
      return lines.length;
    },
    get bytes() {
      return bytes;
    },
    append(line) {
      lines.push(line.subarray(0, -1));
      bytes += line.length;
    },
    read(from, limits) {
      const taken: Buffer[] = [];
      let total = 0;
      for (const line of lines.slice(from - start, from - start + limits.events)) {
        total += line.length;
        if (taken.length > 0 && total > limits.bytes) break;
        taken.push(line);
      }
      return taken;
    },
    sync: async () => {},
    renumber(number) {
      start = number;
    },
    close() {},
    remove() {},
  };
}

type FileState = { file: string; descriptor: number; first: number; count: number; bytes: number };

/**
 * The descriptor stays open until the segment is removed, so that deleting the files under a running engine takes
 * nothing from it.
 */
function fileSegment(state: FileState): Segment {
  /** Where a number stands, so that reading on needs no search. */
  let mark = { number: state.first, offset: 0 };
  let unsynced = false;

  return {
    isVolatile: false,
    get first() {
      return state.first;
    },
    get count() {
      return state.count;
    },
    get bytes() {
      return state.bytes;
    },
    append(line) {
      try {
        for (let done = 0; done < line.length; ) {
          done += writeSync(state.descriptor, line, done, line.length - done, state.bytes + done);
        }
      } catch (error) {
        ftruncateSync(state.descriptor, state.bytes);
        throw error;
      }
      state.bytes += line.length;
      state.count += 1;
      unsynced = true;
    },
    read(from, limits) {
      if (mark.number > from) mark = { number: state.first, offset: 0 };
      while (mark.number < from) {
        const skipped = readLines(mark.offset, { events: from - mark.number, bytes: 1_048_576 });
        if (skipped.lines.length === 0) break;
        mark = { number: mark.number + skipped.lines.length, offset: skipped.end };
      }
      const events = Math.min(limits.events, state.first + state.count - from);
      const { lines } = mark.number === from ? readLines(mark.offset, { ...limits, events }) : { lines: [] };
      // Somebody has cut the file short. What is missing is given up, one number at a time.
      return lines.length > 0 ? lines : [null];
    },
    sync() {
      if (!unsynced) return Promise.resolve();
      unsynced = false;
      return new Promise((resolve, reject) => {
        fdatasync(state.descriptor, (error) => (error ? reject(error) : resolve()));
      });
    },
    renumber(first) {
      const file = path.join(path.dirname(state.file), segmentName(first));
      try {
        renameSync(state.file, file);
      } catch {
        // Deleted under us. The descriptor is what counts while this process lives.
      }
      mark = { number: mark.number - state.first + first, offset: mark.offset };
      Object.assign(state, { file, first });
    },
    close: () => closeSync(state.descriptor),
    remove() {
      closeSync(state.descriptor);
      try {
        rmSync(state.file, { force: true });
      } catch {
        // A folder has taken its place. The next process finds it there.
      }
    },
  };

  function readLines(offset: number, limits: { events: number; bytes: number }) {
    const wanted = Math.min(limits.bytes, state.bytes - offset);
    let { lines, end } = splitLines(readBytes(state.descriptor, offset, wanted), limits.events);
    if (lines.length === 0 && wanted < state.bytes - offset) {
      // One line alone is longer than what was asked for.
      ({ lines, end } = splitLines(readBytes(state.descriptor, offset, state.bytes - offset), 1));
    }
    return { lines, end: offset + end };
  }
}

function readBytes(descriptor: number, offset: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(Math.max(0, length));
  let done = 0;
  while (done < length) {
    const read = readSync(descriptor, buffer, done, length - done, offset + done);
    if (read === 0) break;
    done += read;
  }
  return buffer.subarray(0, done);
}

function splitLines(bytes: Buffer, most: number): { lines: Buffer[]; end: number } {
  const lines: Buffer[] = [];
  let end = 0;
  while (lines.length < most) {
    const newline = bytes.indexOf(NEWLINE, end);
    if (newline < 0) break;
    lines.push(bytes.subarray(end, newline));
    end = newline + 1;
  }
  return { lines, end };
}

/** How many whole lines a file has and where the last of them ends. */
function measure(descriptor: number): { count: number; bytes: number } {
  const chunk = Buffer.allocUnsafe(65_536);
  let count = 0;
  let bytes = 0;
  for (let offset = 0; ; ) {
    const read = readSync(descriptor, chunk, 0, chunk.length, offset);
    if (read === 0 || offset > MOST_BYTES) return { count, bytes };
    for (let at = chunk.indexOf(NEWLINE); at >= 0 && at < read; at = chunk.indexOf(NEWLINE, at + 1)) {
      count += 1;
      bytes = offset + at + 1;
    }
    offset += read;
  }
}
