import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { billedMinutes } from './price.ts';
import { type AwakeStretch, createTally, minutesWithin, type UsageGrouping } from './tally.ts';

const at = new Date('2026-07-15T12:00:00.000Z');
const time = (text: string) => new Date(`2026-07-${text}Z`);
const stretch = (startedAt: string, endedAt: string) => ({
  startedAt: time(startedAt),
  endedAt: time(endedAt),
});
const within = (start: string, end: string) => ({ start: time(start), end: time(end) });

describe('the minutes of a stretch within a window', () => {
  const whole = within('01T00:00:00', '31T00:00:00');
  test.each([
    ['nothing', '01T10:00:00', '01T10:00:00', whole, 0],
    ['one begun minute', '01T10:00:00', '01T10:00:00.001', whole, 1],
    ['one whole minute', '01T10:00:00', '01T10:01:00', whole, 1],
    ['a minute and a moment', '01T10:00:00', '01T10:01:00.001', whole, 2],
    ['an hour', '01T10:00:00', '01T11:00:00', whole, 60],
    ['a clock that went back', '01T10:00:00', '01T09:00:00', whole, 0],
    ['what begins before midnight', '01T23:58:30', '02T00:01:00', within('01T00:00:00', '02T00:00:00'), 2],
    ['what begins after midnight', '01T23:58:30', '02T00:01:00', within('02T00:00:00', '03T00:00:00'), 1],
    ['a window inside of it', '01T00:00:00', '05T00:00:00', within('02T00:00:00', '02T01:00:00'), 60],
    ['a window before it', '02T00:00:00', '05T00:00:00', within('01T00:00:00', '02T00:00:00'), 0],
    ['a window after it', '02T00:00:00', '05T00:00:00', within('05T00:00:00', '06T00:00:00'), 0],
    ['a window without a beginning', '01T10:00:30', '01T12:00:00', within('01T11:00:31', '01T11:01:00'), 0],
  ])('%s', (_what, startedAt, endedAt, window, minutes) => {
    expect(minutesWithin(stretch(startedAt, endedAt), window)).toBe(minutes);
  });
});

describe('a tally', () => {
  const rows: AwakeStretch[] = [
    { replicaId: 'a', source: 'api', rateMicros: 8_000, ...stretch('13T23:00:00', '14T01:00:00') },
    { replicaId: 'a', source: 'api', rateMicros: 8_000, ...stretch('14T05:00:00', '14T05:00:01') },
    { replicaId: 'b', source: 'slack', rateMicros: 16_600, startedAt: time('15T11:58:59'), endedAt: null },
    { replicaId: 'c', source: 'api', rateMicros: 16_000, ...stretch('01T00:00:00', '02T00:00:00') },
  ];
  const tallied = (grouping: UsageGrouping) => tally(rows, within('10T00:00:00', '20T00:00:00'), grouping);
  const total = { minutes: 123, micros: 121 * 8_000 + 2 * 16_600 };

  test.each([
    [
      'replica',
      [
        { key: 'a', minutes: 121, micros: 968_000 },
        { key: 'b', minutes: 2, micros: 33_200 },
      ],
    ],
    [
      'source',
      [
        { key: 'api', minutes: 121, micros: 968_000 },
        { key: 'slack', minutes: 2, micros: 33_200 },
      ],
    ],
    [
      'day',
      [
        { key: '2026-07-13', minutes: 60, micros: 480_000 },
        { key: '2026-07-14', minutes: 61, micros: 488_000 },
        { key: '2026-07-15', minutes: 2, micros: 33_200 },
      ],
    ],
  ] as const)('by %s', (grouping, groups) => {
    expect(tallied(grouping)).toEqual({ total, groups });
  });
});

describe('whatever the stretches are', () => {
  const someMs = fc.integer({ min: 0, max: 20 * 86_400_000 });
  const base = Date.UTC(2026, 6, 1);
  const some = fc.array(
    fc
      .record({
        replicaId: fc.constantFrom('a', 'b', 'c'),
        source: fc.constantFrom('api', 'slack'),
        rateMicros: fc.constantFrom(8_000, 16_000, 16_600),
        from: someMs,
        forMs: fc.oneof(fc.integer({ min: 0, max: 300_000 }), someMs),
        isOpen: fc.boolean(),
      })
      .map(({ from, forMs, isOpen, ...rest }) => ({
        ...rest,
        startedAt: new Date(base + from),
        endedAt: isOpen ? null : new Date(base + from + forMs),
      })),
    { maxLength: 8 },
  );
  const cuts = fc.tuple(someMs, someMs, someMs).map((moments) => moments.sort((a, b) => a - b));

  test('each group adds up to the total, which is the same for every grouping', () => {
    fc.assert(
      fc.property(some, cuts, (rows, [first, , last]) => {
        const window = { start: new Date(base + first), end: new Date(base + last + 1) };
        const totals = (['replica', 'source', 'day'] as const).map((grouping) => {
          const { total, groups } = tally(rows, window, grouping);
          expect(sumOf(groups)).toEqual(total);
          return total;
        });
        expect(totals[1]).toEqual(totals[0]);
        expect(totals[2]).toEqual(totals[0]);
      }),
    );
  });

  test('adjacent windows add up to the one over both', () => {
    fc.assert(
      fc.property(some, cuts, (rows, [first, middle, last]) => {
        const [start, cut, end] = [first, middle, last].map((ms) => new Date(base + ms)) as [
          Date,
          Date,
          Date,
        ];
        const parts = [
          tally(rows, { start, end: cut }, 'day').total,
          tally(rows, { start: cut, end }, 'day').total,
        ];
        expect(sumOf(parts)).toEqual(tally(rows, { start, end }, 'replica').total);
      }),
    );
  });

  test('a window over everything has every billed minute', () => {
    fc.assert(
      fc.property(some, (rows) => {
        const window = { start: new Date(base), end: new Date(base + 60 * 86_400_000) };
        const minutes = rows.map((row) => billedMinutes({ ...row, endedAt: row.endedAt ?? at }));
        expect(tally(rows, window, 'day').total.minutes).toBe(minutes.reduce((sum, one) => sum + one, 0));
      }),
    );
  });
});

function tally(rows: readonly AwakeStretch[], window: { start: Date; end: Date }, grouping: UsageGrouping) {
  const sums = createTally({ window, grouping, at });
  for (const row of rows) sums.add(row);
  return sums.result();
}

function sumOf(counted: readonly { minutes: number; micros: number }[]) {
  return counted.reduce(
    (sum, { minutes, micros }) => ({ minutes: sum.minutes + minutes, micros: sum.micros + micros }),
    { minutes: 0, micros: 0 },
  );
}
