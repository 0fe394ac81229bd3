import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type OutboxLog, openOutboxLog } from './outbox-log.ts';

let root: string;
let folder: string;
let warnings: string[];
const opened: OutboxLog[] = [];
beforeEach(() => {
  warnings = [];
  root = mkdtempSync(path.join(tmpdir(), 'replica-outbox-'));
  folder = path.join(root, 'outbox');
});
afterEach(() => {
  for (const log of opened.splice(0)) log.close();
  rmSync(root, { recursive: true, force: true });
});

function open(acked: number): OutboxLog {
  const log = openOutboxLog({ folder, acked, warn: (sentence) => warnings.push(sentence) });
  opened.push(log);
  return log;
}
const line = (text: string) => Buffer.from(`${text}\n`);
const append = (log: OutboxLog, ...texts: string[]) => texts.forEach((text) => void log.append(line(text)));
const many = { events: 500, bytes: 1_000_000 };
const unsent = (log: OutboxLog, limits = many) => log.unsent(limits).map((found) => found && String(found));
const files = () => readdirSync(folder).sort();
const file = (name: string | undefined) => path.join(folder, name ?? '');

const plantSegment = (first: number) =>
  writeFileSync(file(`${String(first).padStart(16, '0')}.events`), 'x\n');
function plantInPlace(plant: () => void): void {
  rmSync(folder, { recursive: true });
  plant();
}
function plantTwice(name: string): void {
  writeFileSync(path.join(root, 'somebody'), 'x\n');
  linkSync(path.join(root, 'somebody'), file(name));
}
function plantHuge(huge: string): void {
  writeFileSync(huge, '');
  truncateSync(huge, 2 ** 40);
}

test('numbers start after what the gateway has taken', () => {
  const log = open(41);
  expect([log.acked, log.next]).toEqual([41, 42]);
  append(log, 'a', 'b');
  expect([log.acked, log.next]).toEqual([41, 44]);
  expect(unsent(log)).toEqual(['a', 'b']);
});

test('what was not taken is there after a restart, with the same numbers', () => {
  append(open(0), 'a', 'b', 'c');
  const log = open(1);
  expect([log.acked, log.next]).toEqual([1, 4]);
  expect(unsent(log)).toEqual(['b', 'c']);
  append(log, 'd');
  log.settle(3);
  expect(unsent(log)).toEqual(['d']);
});

test('what was taken is removed from the disk', () => {
  append(open(0), 'a', 'b');
  const log = open(2);
  expect(files()).toEqual([]);
  expect(log.next).toBe(3);
});

test('a last line that was cut off by a kill is dropped', () => {
  append(open(0), 'a', 'b');
  appendFileSync(file(files()[0]), '{"half":');
  const log = open(0);
  expect(log.next).toBe(3);
  append(log, 'c');
  expect(unsent(log, { events: 2, bytes: 1_000 })).toEqual(['a', 'b']);
  log.settle(2);
  expect(unsent(log)).toEqual(['c']);
});

test('a batch has as many events and bytes as it may, and at least one', () => {
  const log = open(0);
  append(log, 'aaaa', 'bbbb', 'cccc');
  expect(unsent(log, { events: 2, bytes: 1_000 })).toEqual(['aaaa', 'bbbb']);
  expect(unsent(log, { events: 9, bytes: 12 })).toEqual(['aaaa', 'bbbb']);
  expect(unsent(log, { events: 9, bytes: 1 })).toEqual(['aaaa']);
});

test('the gateway may be behind: what is still there is sent again', () => {
  const log = open(0);
  append(log, 'a', 'b', 'c');
  log.settle(2);
  log.settle(0);
  expect(unsent(log)).toEqual(['a', 'b', 'c']);
  expect(log.next).toBe(4);
});

test('the gateway may be further behind than what is kept: the numbers close up', () => {
  append(open(10), 'a', 'b');
  const log = open(5);
  expect([log.acked, log.next]).toEqual([5, 8]);
  expect(unsent(log)).toEqual(['a', 'b']);
  log.settle(6);
  const again = open(6);
  expect(unsent(again)).toEqual(['b']);
});

test('the gateway may be ahead: numbers go on after it', () => {
  const log = open(0);
  append(log, 'a', 'b');
  log.settle(9);
  expect([log.next, unsent(log)]).toEqual([10, []]);
  append(log, 'c');
  expect(unsent(log)).toEqual(['c']);
});

test('a segment that is missing in between leaves no hole', () => {
  mkdirSync(folder);
  plantSegment(1);
  plantSegment(5);
  const log = open(0);
  expect([log.next, unsent(log)]).toEqual([3, ['x']]);
  log.settle(1);
  expect(unsent(log)).toEqual(['x']);
  expect(files()).toEqual(['0000000000000002.events']);
});

test('deleting everything under a running engine loses nothing', () => {
  const log = open(0);
  append(log, 'a');
  rmSync(folder, { recursive: true });
  append(log, 'b');
  expect(unsent(log)).toEqual(['a', 'b']);
  log.settle(2);
  append(log, 'c');
  expect(unsent(log)).toEqual(['c']);
});

test('a file that was cut short under a running engine gives up the lost numbers only', () => {
  const log = open(0);
  append(log, 'aaaa', 'bbbb', 'cccc');
  truncateSync(file(files()[0]), 7);
  expect(unsent(log)).toEqual(['aaaa']);
  log.settle(1);
  expect(unsent(log)).toEqual([null]);
  log.settle(2);
  expect(unsent(log)).toEqual([null]);
});

test.each<[string, () => void]>([
  ['a file in place of the folder', () => plantInPlace(() => writeFileSync(folder, 'a file'))],
  ['a fifo in place of the folder', () => plantInPlace(() => execFileSync('mkfifo', [folder]))],
  ['a link in place of the folder', () => plantInPlace(() => symlinkSync('/etc', folder))],
  ['files of other names', () => writeFileSync(file('x'), 'y')],
  ['a folder in place of a segment', () => mkdirSync(file('0000000000000001.events'))],
  ['a link in place of a segment', () => symlinkSync('/etc/passwd', file('0000000000000001.events'))],
  ['a fifo in place of a segment', () => execFileSync('mkfifo', [file('0000000000000001.events')])],
  ['a segment with a second name', () => plantTwice('0000000000000001.events')],
  ['a huge segment', () => plantHuge(file('0000000000000001.events'))],
  [
    'more lines than there can be events',
    () => writeFileSync(file('0000000000000001.events'), '{\n'.repeat(20_000)),
  ],
  [
    'more segments than there can be',
    () => Array.from({ length: 300 }, (_, index) => plantSegment(index + 1)),
  ],
])('%s do no harm', (_, plant) => {
  mkdirSync(folder);
  plant();
  const log = open(7);
  expect([log.acked, log.next]).toEqual([7, 8]);
  expect(warnings).toEqual([expect.stringMatching(/^Reports that were waiting on the disk are lost/)]);
  append(log, 'a');
  expect(unsent(log)).toEqual(['a']);
  expect(files()).toEqual(['0000000000000008.events']);
});

/** A folder below a file, which cannot be. */
function shutFolder(): string {
  folder = path.join(root, 'file', 'outbox');
  writeFileSync(path.join(root, 'file'), '');
  return path.join(root, 'file');
}

test('where nothing can be written, events wait in memory, and on disk again later', () => {
  const shut = shutFolder();
  const log = open(0);
  append(log, 'a', 'b');
  expect(unsent(log)).toEqual(['a', 'b']);
  rmSync(shut);
  log.settle(2);
  append(log, 'c');
  expect(unsent(log)).toEqual(['c']);
  expect(files()).toHaveLength(1);
});

test('memory is bounded', () => {
  shutFolder();
  const log = open(0);
  const megabyte = 'x'.repeat(1_048_576);
  append(log, megabyte, megabyte);
  expect(log.isPressed).toBe(true);
  expect(() => append(log, ...Array<string>(8).fill(megabyte))).toThrow(/too many wait in memory/);
});

test('the disk is bounded', () => {
  const log = open(0);
  const text = 'x'.repeat(2_900_000);
  for (let index = 0; index < 22; index += 1) append(log, text);
  expect(log.isPressed).toBe(false);
  append(log, text, text);
  expect(log.isPressed).toBe(true);
  log.settle(24);
  expect(log.isPressed).toBe(false);
  expect(files()).toEqual([]);
});
