import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cursorStateFolder, removeCursorState } from './cursor-home.ts';

test('the state of a chat is removed, and no other', () => {
  const home = mkdtempSync(path.join(tmpdir(), 'cursor-home-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  removeCursorState(home, 'a');
  expect(readdirSync(home)).toEqual([]);
  for (const chatId of ['a', 'b']) {
    mkdirSync(cursorStateFolder(home, chatId), { recursive: true });
    writeFileSync(path.join(cursorStateFolder(home, chatId), 'state'), '');
  }
  removeCursorState(home, 'a');
  expect(readdirSync(path.dirname(cursorStateFolder(home, 'b')))).toEqual(['b']);
});
