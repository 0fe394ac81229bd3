import { describe, expect, test } from 'vitest';
import { readSources, type Source } from './sources.ts';

const sources = readSources('src/**/*.ts').filter(({ file }) => !file.endsWith('.test.ts'));
const foundations = [
  'contract',
  'lib',
  'db',
  'http',
  'secret',
  'work',
  'git',
  'client',
  'cli',
  'engine',
  'runtime',
  'gateway',
];
const folderOf = (file: string) => file.split('/')[1] ?? '';
const nouns = [...new Set(sources.map(({ file }) => folderOf(file)))].filter(
  (folder) => !folder.endsWith('.ts') && !foundations.includes(folder),
);
const ours = (source: Source) => source.imports.filter((name) => name.startsWith('src/'));

/** What each folder may import of ours besides itself. Nouns and the rest are below. */
const allowed: Record<string, string[]> = {
  contract: [],
  lib: [],
  secret: ['lib'],
  git: ['lib'],
  db: ['lib'],
  work: ['lib'],
  client: ['contract'],
  engine: ['lib'],
  runtime: ['engine', 'lib'],
};

describe('import arrows', () => {
  test('the walk sees the sources and their imports', () => {
    expect(nouns).toEqual(expect.arrayContaining(['environment', 'repository', 'variable']));
    expect(sources.filter((source) => ours(source).length > 0).length).toBeGreaterThan(50);
  });

  test.each(Object.entries(allowed))('src/%s imports only %j of ours', (folder, targets) => {
    const wrong = sources
      .filter(({ file }) => folderOf(file) === folder)
      .flatMap((source) =>
        ours(source)
          .filter((name) => ![folder, ...targets].includes(folderOf(name)))
          .map((name) => `${source.file} → ${name}`),
      );
    expect(wrong).toEqual([]);
  });

  test('the contract imports zod and nothing else from outside', () => {
    const outside = sources
      .filter(({ file }) => folderOf(file) === 'contract')
      .flatMap(({ file, imports }) =>
        imports
          .filter((name) => !name.startsWith('src/') && name !== 'zod')
          .map((name) => `${file} → ${name}`),
      );
    expect(outside).toEqual([]);
  });

  test("a noun never reaches into another noun's store, handlers or worker", () => {
    const wrong = sources.flatMap((source) =>
      ours(source)
        .filter((name) => nouns.includes(folderOf(name)) && folderOf(name) !== folderOf(source.file))
        .filter((name) => /(store|handlers|worker)\.ts$/.test(name))
        .filter(() => !/^src\/wire(-\w+)?\.ts$/.test(source.file))
        .map((name) => `${source.file} → ${name}`),
    );
    expect(wrong).toEqual([]);
  });

  test('only wire.ts, main.ts and the command line know the concrete parts', () => {
    const composers = ['src/wire.ts', 'src/wire-replicas.ts', 'src/main.ts'];
    const wrong = sources
      .filter(({ file }) => !composers.includes(file) && folderOf(file) !== 'cli')
      .filter((source) => ours(source).some((name) => composers.includes(name)))
      .map(({ file }) => file);
    expect(wrong).toEqual([]);
  });

  test('only stores and the database folder write SQL', () => {
    const wrong = sources
      .filter(({ file }) => nouns.includes(folderOf(file)) && !/store\.ts$/.test(file))
      .filter(({ text }) => /\.(selectFrom|insertInto|updateTable|deleteFrom)\(/.test(text))
      .map(({ file }) => file);
    expect(wrong).toEqual([]);
  });
});
