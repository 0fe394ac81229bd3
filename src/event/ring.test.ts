import { describe, expect, test } from 'vitest';
import { createEventRing } from './ring.ts';

const event = (seq: number, bytes = 10) => ({ seq, bytes });
const events = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => event(from + index));
const numbers = (held: readonly { seq: number }[] | null) => held?.map(({ seq }) => seq) ?? null;
const ring = ({ maxBytes = (): number => 1_000 } = {}) =>
  createEventRing({ last: 10, maxEvents: 5, maxBytes });

describe('the ring of events', () => {
  test.each([
    ['nothing before anything was added', [], 10, []],
    ['null for what was before it began', [], 9, null],
    ['everything after the given one', [11, 12, 13], 11, [12, 13]],
    ['all of it', [11, 12, 13], 10, [11, 12, 13]],
    ['nothing after the last one', [11, 12, 13], 13, []],
    ['nothing after one that is still to come', [11, 12, 13], 20, []],
    ['null for what it began after', [11, 12, 13], 9, null],
  ])('gives %s', (_what, added, after, expected) => {
    const held = ring();
    held.add(added.map((seq) => event(seq)));
    expect(numbers(held.after(after))).toEqual(expected);
  });

  test('drops the oldest when it has too many', () => {
    const held = ring();
    held.add(events(11, 18));
    expect(held.last()).toBe(18);
    expect(numbers(held.after(13))).toEqual([14, 15, 16, 17, 18]);
    expect(held.after(12)).toBeNull();
  });

  test('drops the oldest when they are too large together, but never the newest', () => {
    const held = ring({ maxBytes: () => 100 });
    held.add([event(11, 60), event(12, 60)]);
    expect(numbers(held.after(11))).toEqual([12]);
    expect(held.after(10)).toBeNull();
    held.add([event(13, 5_000)]);
    expect(numbers(held.after(12))).toEqual([13]);
    held.add([event(14, 1)]);
    expect(numbers(held.after(13))).toEqual([14]);
    expect(held.after(12)).toBeNull();
  });

  test('shrinks with the next event when it may hold less than before', () => {
    let maxBytes = 1_000;
    const held = ring({ maxBytes: () => maxBytes });
    held.add(events(11, 14));
    maxBytes = 25;
    expect(numbers(held.after(10))).toEqual([11, 12, 13, 14]);
    held.add(events(15, 15));
    expect(numbers(held.after(13))).toEqual([14, 15]);
    expect(held.after(12)).toBeNull();
  });

  test('begins anew at a hole', () => {
    const held = ring();
    held.add([event(11), event(12), event(20), event(21)]);
    expect(numbers(held.after(19))).toEqual([20, 21]);
    expect(held.after(11)).toBeNull();
  });
});
