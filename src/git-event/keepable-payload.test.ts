import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { recordedEvents } from '../../test/world/github-event.ts';
import { isStorableJson } from '../contract/common.ts';
import { keepablePayload } from './keepable-payload.ts';

const MAX_BYTES = 262_144;
const kept = (payload: unknown) => JSON.parse(keepablePayload(payload) ?? 'null');

describe('what is kept of a payload', () => {
  test('all of every recorded event', () => {
    for (const { payload } of recordedEvents) expect(kept(payload)).toEqual(payload);
  });

  test('what PostgreSQL cannot keep is replaced, also in names', () => {
    expect(kept({ 'a\0': ['x\0y', '\ud800', '😀', '\\u0000'] })).toEqual({
      'a\u{fffd}': ['x\u{fffd}y', '\u{fffd}', '😀', '\\u0000'],
    });
  });

  test('a long text loses its end, and nothing else changes', () => {
    const payload = { action: 'created', comment: { body: 'x'.repeat(400_000), id: 7 } };
    expect(kept(payload)).toEqual({
      action: 'created',
      comment: { body: `${'x'.repeat(16_384)}…`, id: 7 },
    });
  });

  test('a character at the cut is not halved', () => {
    const { body } = kept({ body: `${'x'.repeat(16_383)}😀${'y'.repeat(400_000)}` });
    expect(body).toBe(`${'x'.repeat(16_383)}\u{fffd}…`);
  });

  test('a long list loses its end', () => {
    const commits = Array.from({ length: 2_000 }, (_, index) => ({ id: index, message: 'm'.repeat(500) }));
    expect(kept({ ref: 'refs/heads/main', commits })).toEqual({
      ref: 'refs/heads/main',
      commits: commits.slice(0, 200),
    });
  });

  test('what cannot be made short is not kept', () => {
    const deep = (levels: number): unknown =>
      levels === 0 ? 'x'.repeat(100) : Array.from({ length: 9 }, () => deep(levels - 1));
    expect(keepablePayload(deep(5))).toBeNull();
  });

  test('what is kept can be stored, whatever it is', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (payload) => {
        expect(isStorableJson(kept(payload), MAX_BYTES)).toBe(true);
      }),
    );
  });
});
