import { expect, test } from 'vitest';
import { learn, type PullState } from './pull-state.ts';

const time = (second: number | null) => (second === null ? null : new Date(second * 1_000));
const after = (
  [known, knownAt]: [PullState, number | null],
  [said, saidAt]: [PullState, number | null],
): PullState =>
  (
    learn(
      { state: known, head_commit: null, updated_at: time(knownAt) },
      { state: said, headCommit: null, changedAt: time(saidAt) },
    ) ?? { state: known }
  ).state;

test.each<[string, [PullState, number | null], [PullState, number | null], PullState]>([
  ['a merge is taken', ['open', 1], ['merged', 2], 'merged'],
  ['a merge of the same second is taken', ['open', 1], ['merged', 1], 'merged'],
  ['a merge without a time is taken', ['open', 1], ['merged', null], 'merged'],
  ['a close is taken', ['open', null], ['closed', 2], 'closed'],
  ['what was closed can be merged', ['closed', 2], ['merged', 3], 'merged'],
  ['what is older changes nothing', ['open', 5], ['closed', 4], 'open'],
  ['what was closed is opened again', ['closed', 2], ['open', 3], 'open'],
  ['word of before the close does not open it', ['closed', 2], ['open', 1], 'closed'],
  ['word of the same second does not open it', ['closed', 2], ['open', 2], 'closed'],
  ['word without a time does not open it', ['closed', 2], ['open', null], 'closed'],
  ['what was merged stays merged', ['merged', 2], ['open', 9], 'merged'],
  ['what was merged is not closed', ['merged', 2], ['closed', 9], 'merged'],
])('%s', (_name, known, said, state) => {
  expect(after(known, said)).toBe(state);
});

test('the commit and the time are those that were said last', () => {
  const known = { state: 'open' as const, head_commit: 'a', updated_at: time(1) };
  expect(learn(known, { state: 'open', headCommit: 'b', changedAt: time(2) })).toEqual({
    state: 'open',
    head_commit: 'b',
    updated_at: time(2),
  });
  expect(learn(known, { state: 'open', headCommit: null, changedAt: null })).toEqual(known);
});
