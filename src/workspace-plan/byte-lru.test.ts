import { expect, test } from 'vitest';
import { createByteLru } from './byte-lru.ts';

const keptOf = (steps: [act: 'get' | 'set', key: string, bytes?: number][]) => {
  const lru = createByteLru<string>(10);
  for (const [act, key, bytes = 0] of steps) {
    if (act === 'set') lru.set(key, key, bytes);
    else lru.get(key);
  }
  return ['a', 'b', 'c'].filter((key) => lru.get(key) === key).join('');
};

test.each<[string, Parameters<typeof keptOf>[0], string]>([
  [
    'everything that fits',
    [
      ['set', 'a', 5],
      ['set', 'b', 5],
    ],
    'ab',
  ],
  [
    'the newest when not all fits',
    [
      ['set', 'a', 5],
      ['set', 'b', 5],
      ['set', 'c', 1],
    ],
    'bc',
  ],
  [
    'what was used last',
    [
      ['set', 'a', 5],
      ['set', 'b', 5],
      ['get', 'a'],
      ['set', 'c', 1],
    ],
    'ac',
  ],
  [
    'nothing that alone is too large',
    [
      ['set', 'a', 5],
      ['set', 'b', 11],
    ],
    'a',
  ],
  [
    'no old value under a key whose new one is too large',
    [
      ['set', 'a', 5],
      ['set', 'a', 11],
    ],
    '',
  ],
  [
    'the size of a replaced value just once',
    [
      ['set', 'a', 5],
      ['set', 'a', 6],
      ['set', 'b', 4],
    ],
    'ab',
  ],
])('keeps %s', (_, steps, expected) => {
  expect(keptOf(steps)).toBe(expected);
});
