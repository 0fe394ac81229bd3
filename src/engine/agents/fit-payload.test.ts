import { describe, expect, test } from 'vitest';
import { fitPayload } from './fit-payload.ts';

const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

describe('fitting a payload', () => {
  test('leaves what fits as it is', () => {
    const payload = { text: 'é', list: [1, null, { deep: true }], nothing: null };
    expect(fitPayload(payload, 1_000)).toEqual(payload);
  });

  test('replaces what cannot be stored', () => {
    expect(fitPayload({ 'a\0': 'x\0y', half: '\ud800!' }, 1_000)).toEqual({
      'a\uFFFD': 'x\uFFFDy',
      half: '\uFFFD!',
    });
  });

  test('shortens texts until it fits', () => {
    const fitted = fitPayload({ output: 'x'.repeat(50_000), command: 'ls' }, 20_000);
    expect(fitted).toEqual({ output: `${'x'.repeat(10_000)}…`, command: 'ls' });
  });

  test('says so when nothing helps', () => {
    expect(fitPayload({ list: Array.from({ length: 10_000 }, () => 1) }, 1_000)).toEqual({
      isTooLarge: true,
    });
  });

  test('cuts what is nested without end', () => {
    let nested: Record<string, unknown> = {};
    for (let depth = 0; depth < 5_000; depth += 1) nested = { nested };
    expect(bytes(fitPayload(nested, 100_000))).toBeLessThan(2_000);
  });
});
