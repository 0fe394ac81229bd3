import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type JournalEntry, openJournal } from './journal.ts';

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'journal-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const idOf = (name: string | number) => `00000000-0000-4000-8000-${String(name).padStart(12, '0')}`;
const chatId = idOf('cc');
const entry = (name: string | number): JournalEntry => ({ id: idOf(name), chatId, outcome: null });

function plantHuge(file: string): void {
  writeFileSync(file, '');
  truncateSync(file, 2 ** 40);
}

describe('the journal', () => {
  test('knows what was begun and what is unfinished after it is opened anew', async () => {
    const folder = makeFolder();
    const before = openJournal(folder, { keep: 10 });
    await before.write(entry('a'));
    await before.write(entry('b'));
    await before.write({ ...entry('b'), outcome: { outcome: 'completed', error: null } });
    await before.write(entry('c'));
    await before.finish(idOf('c'));
    for (const journal of [before, openJournal(folder, { keep: 10 })]) {
      expect(['a', 'b', 'c', 'd'].map(idOf).map(journal.has)).toEqual([true, true, true, false]);
      expect(journal.unfinished()).toEqual([
        entry('a'),
        { ...entry('b'), outcome: { outcome: 'completed', error: null } },
      ]);
    }
  });

  test('takes what it cannot read for a turn that was begun', () => {
    const folder = makeFolder();
    writeFileSync(join(folder, 'torn.json'), '{"id":');
    writeFileSync(join(folder, 'draft.tmp'), '{}');
    const journal = openJournal(folder, { keep: 10 });
    expect([journal.has('torn'), journal.has('draft')]).toEqual([true, false]);
    expect(journal.unfinished()).toEqual([]);
    expect(readdirSync(folder)).toEqual(['torn.json']);
  });

  test('takes an entry that a power cut has left empty for a turn that was not begun', async () => {
    const folder = makeFolder();
    writeFileSync(join(folder, `${idOf('a')}.json`), '');
    const journal = openJournal(folder, { keep: 10 });
    expect([journal.has(idOf('a')), readdirSync(folder)]).toEqual([false, []]);
    await journal.write(entry('a'));
    expect(openJournal(folder, { keep: 10 }).unfinished()).toEqual([entry('a')]);
  });

  test.each<[string, (file: string) => void]>([
    ['a fifo', (file) => execFileSync('mkfifo', [file])],
    ['a link', (file) => symlinkSync('/dev/zero', file)],
    ['a folder', (file) => mkdirSync(join(file, 'x'), { recursive: true })],
    ['a huge file', (file) => plantHuge(file)],
    ['somebody else’s entry', (file) => writeFileSync(file, JSON.stringify(entry('b')))],
    ['an entry with no chat', (file) => writeFileSync(file, JSON.stringify({ ...entry('a'), chatId: 'x' }))],
    [
      'an odd outcome',
      (file) => writeFileSync(file, JSON.stringify({ ...entry('a'), outcome: { error: 1 } })),
    ],
    ['null', (file) => writeFileSync(file, 'null')],
  ])('reads no entry from %s, and goes on', async (_what, plant) => {
    const folder = makeFolder();
    plant(join(folder, `${idOf('a')}.json`));
    plant(join(folder, `${idOf('b')}.tmp`));
    const journal = openJournal(folder, { keep: 10 });
    expect([journal.has(idOf('a')), journal.unfinished()]).toEqual([true, []]);
    plant(join(folder, `${idOf('c')}.tmp`));
    await journal.write(entry('c'));
    await journal.finish(idOf('c'));
    expect(openJournal(folder, { keep: 10 }).has(idOf('c'))).toBe(true);
  });

  test('goes on when its folder was removed', async () => {
    const folder = makeFolder();
    const journal = openJournal(folder, { keep: 10 });
    rmSync(folder, { recursive: true });
    await journal.write(entry('a'));
    expect(openJournal(folder, { keep: 10 }).unfinished()).toEqual([entry('a')]);
  });

  test('forgets the oldest finished turns and no others', async () => {
    const folder = makeFolder();
    const journal = openJournal(folder, { keep: 5 });
    await journal.write(entry('ff'));
    for (let index = 0; index < 105; index += 1) {
      await journal.write(entry(index));
      await journal.finish(idOf(index));
    }
    expect(readdirSync(folder)).toHaveLength(5);
    expect(['ff', 0, 104].map(idOf).map(journal.has)).toEqual([true, false, true]);
  });
});
