import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  opencodeDatabase,
  removeOpencodeDatabase,
  stopOpencodeInstalls,
  writeOpencodeInstructions,
} from './opencode-home.ts';

function openHome() {
  const home = mkdtempSync(path.join(tmpdir(), 'opencode-home-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return { home, config: path.join(home, '.config/opencode') };
}

describe('the home of opencode', () => {
  test('looks as if there was nothing to install', () => {
    const { home, config } = openHome();
    stopOpencodeInstalls(home);
    stopOpencodeInstalls(home);
    expect(readdirSync(config).toSorted()).toEqual(['node_modules', 'package-lock.json']);
    const lock = JSON.parse(readFileSync(path.join(config, 'package-lock.json'), 'utf8')) as object;
    expect(lock).toMatchObject({ packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } } });
  });

  test('is left alone when somebody wants packages', () => {
    const { home, config } = openHome();
    mkdirSync(config, { recursive: true });
    writeFileSync(path.join(config, 'package.json'), '{}');
    stopOpencodeInstalls(home);
    expect(readdirSync(config)).toEqual(['package.json']);
  });

  test('is left alone when a file is in its place', () => {
    const { home } = openHome();
    writeFileSync(path.join(home, '.config'), '');
    stopOpencodeInstalls(home);
    expect(readdirSync(home)).toEqual(['.config']);
  });

  test('has a database for each chat, in a folder that is there', () => {
    const { home } = openHome();
    const databases = ['a', 'b'].map((chatId) => opencodeDatabase(home, chatId));
    expect(new Set(databases).size).toBe(2);
    for (const database of databases) expect(existsSync(path.dirname(database))).toBe(true);
  });

  test('has the system prompt in a file, if there is one', () => {
    const { home } = openHome();
    expect(writeOpencodeInstructions(home, null)).toEqual([]);
    expect(existsSync(path.join(home, '.replica'))).toBe(false);
    const [file = ''] = writeOpencodeInstructions(home, 'Be kind.');
    expect(readFileSync(file, 'utf8')).toBe('Be kind.');
  });
});

test('the database of a chat is removed with the files beside it, and no other', () => {
  const { home } = openHome();
  removeOpencodeDatabase(home, 'a');
  expect(readdirSync(home)).toEqual([]);
  for (const suffix of ['', '-wal', '-shm']) writeFileSync(`${opencodeDatabase(home, 'a')}${suffix}`, '');
  writeFileSync(opencodeDatabase(home, 'b'), '');
  removeOpencodeDatabase(home, 'a');
  expect(readdirSync(path.dirname(opencodeDatabase(home, 'b')))).toEqual(['b.db']);
});
