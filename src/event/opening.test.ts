import { describe, expect, test } from 'vitest';
import { parseEventId, planOpening, snapshotEventId } from './opening.ts';

describe('an event id', () => {
  test.each([
    ['0', 0],
    ['17', 17],
    ['007', 7],
    ['17.0', 'unfinished_snapshot'],
    ['17.12', 'unfinished_snapshot'],
    ['', 'unknown'],
    ['-1', 'unknown'],
    ['1e3', 'unknown'],
    ['17.', 'unknown'],
    [' 17', 'unknown'],
    ['99999999999999999999', 'unknown'],
    ['0197a0b4-0000-7000-8000-000000000000', 'unknown'],
  ])('%j is read as %j', (id, expected) => {
    expect(parseEventId(id)).toBe(expected);
  });

  test('of a snapshot can be gone on from only at its last event', () => {
    expect(parseEventId(snapshotEventId(17, { index: 3, isLast: true }))).toBe(17);
    expect(parseEventId(snapshotEventId(17, { index: 3, isLast: false }))).toBe('unfinished_snapshot');
  });
});

describe('a stream begins', () => {
  const fresh = { after: 20, hasGap: false, hasSnapshot: false };
  const resumed = (after: number) => ({ after, hasGap: false, hasSnapshot: false });
  const gap = (after: number) => ({ after, hasGap: true, hasSnapshot: false });

  test.each([
    ['with what comes next when nothing is asked for', null, null, fresh],
    ['after the event that was asked for', '15', 16, resumed(15)],
    ['after the last event', '20', null, resumed(20)],
    ['with the first event', '0', 1, resumed(0)],
    ['with a gap and the oldest event that is kept', '3', 8, gap(7)],
    ['with a gap when none is kept', '3', null, gap(20)],
    ['with a gap after an event that is still to come', '21', null, gap(20)],
    ['with a gap after an id that is none', 'abc', null, gap(20)],
    ['with a snapshot after an unfinished one', '12.2', null, { ...fresh, hasSnapshot: true }],
  ])('%s', (_where, lastEventId, firstAfter, expected) => {
    expect(planOpening({ lastEventId, wantsSnapshot: false }, { last: 20, firstAfter })).toEqual(expected);
  });

  test.each([
    ['with the snapshot', null, null, { after: 20, hasGap: false, hasSnapshot: true }],
    ['without it after the event that was asked for', '15', 16, resumed(15)],
    ['with the gap and the snapshot', '3', 8, { after: 20, hasGap: true, hasSnapshot: true }],
    ['with the gap and the snapshot, unknown', 'abc', null, { after: 20, hasGap: true, hasSnapshot: true }],
  ])('when a snapshot is wanted, %s', (_where, lastEventId, firstAfter, expected) => {
    expect(planOpening({ lastEventId, wantsSnapshot: true }, { last: 20, firstAfter })).toEqual(expected);
  });
});
