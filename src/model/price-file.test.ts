import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigError } from '../config.ts';
import { listPrices } from './price.ts';
import { loadModelPrices } from './price-file.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'prices-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function load(text: string) {
  const file = path.join(folder, 'prices.json');
  writeFileSync(file, text);
  return loadModelPrices(file);
}

describe('prices of models', () => {
  test('are those that come with the service when no file is named', () => {
    expect(loadModelPrices(undefined)).toBe(listPrices);
  });

  test('are those of the file alone when one is named', () => {
    const prices = load(
      JSON.stringify({
        'Our-Model': { input: 1, output: 2, cache_read: 0.1, cache_write: 1.5 },
        other: { input: 3, output: 4 },
      }),
    );
    expect([...prices]).toEqual([
      ['our-model', { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.5 }],
      ['other', { input: 3, output: 4, cacheRead: 3, cacheWrite: 3 }],
    ]);
  });

  test.each([
    ['no JSON', '{', 'the file is not JSON'],
    ['a list', '[]', 'the table: '],
    ['a price that is text', '{"m":{"input":"1","output":2}}', 'm.input: '],
    ['a price below zero', '{"m":{"input":-1,"output":2}}', 'm.input: '],
    ['half of a price', '{"m":{"input":1}}', 'm.output: '],
    ['a misspelt field', '{"m":{"input":1,"output":1,"cacheRead":1}}', 'm: '],
    ['a model without a name', '{"":{"input":1,"output":1}}', ''],
  ])('with %s are refused in one line', (_what, text, reason) => {
    expect(() => load(text)).toThrow(ConfigError);
    expect(() => load(text)).toThrow(new RegExp(`^REPLICA_MODEL_PRICES is wrong: ${reason}[^\\n]*$`));
  });

  test('of a file that is not there are refused in one line', () => {
    expect(() => loadModelPrices(path.join(folder, 'none.json'))).toThrow(
      'REPLICA_MODEL_PRICES is wrong: the file cannot be read (ENOENT)',
    );
  });
});
