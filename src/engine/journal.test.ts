import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type JournalEntry, openJournal } from './journal.ts';

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'journal-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const entry = (id: string): JournalEntry => ({ id, chatId: 'chat', outcome: null });

describe('the journal', () => {
  test('knows what was begun and what is unfinished after it is opened anew', async () => {
    const folder = makeFolder();
    const before = openJournal(folder, { keep: 10 });
    await before.write(entry('a'));
    await before.write(entry('b'));
    await before.write({ ...entry('b'), outcome: { outcome: 'completed', error: null } });
    await before.write(entry('c'));
    await before.finish('c');
    for (const journal of [before, openJournal(folder, { keep: 10 })]) {
      expect(['a', 'b', 'c', 'd'].map(journal.has)).toEqual([true, true, true, false]);
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

  test('forgets the oldest finished turns and no others', async () => {
    const folder = makeFolder();
    const journal = openJournal(folder, { keep: 5 });
    await journal.write(entry('open'));
    for (let index = 0; index < 105; index += 1) {
      await journal.write(entry(`${index}`));
      await journal.finish(`${index}`);
    }
    expect(readdirSync(folder)).toHaveLength(5);
    expect(['open', '0', '104'].map(journal.has)).toEqual([true, false, true]);
  });
});
