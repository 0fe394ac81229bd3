import { expect, test } from 'vitest';
import { engineLimits } from '../engine/limits.ts';
import { fitOutput } from './fit-output.ts';

const none = { bytes: 0, pieces: 0 };
const full = engineLimits.hookLogBytes;

test.each([
  ['everything while there is room', ['a', 'ü'], none, ['a', 'ü'], 3],
  ['nothing of nothing', [], none, [], 0],
  [
    "the engine's remark behind the last of the output",
    ['[cut]\n'],
    { bytes: full, pieces: 300 },
    ['[cut]\n'],
    6,
  ],
  ['nothing when there is no room', ['a'], { bytes: full + 4_096, pieces: 300 }, [], 0],
  [
    'bytes, not characters',
    ['a'.repeat(4_000), 'ü'.repeat(50)],
    { bytes: full, pieces: 0 },
    ['a'.repeat(4_000)],
    4_000,
  ],
  ['no more pieces than there may be', ['a', 'b'], { bytes: 99_999, pieces: 99_999 }, ['a'], 1],
])('of a hook is kept: %s', (_, texts, kept, expected, bytes) => {
  expect(fitOutput(texts, kept)).toEqual({ texts: expected, bytes });
});
