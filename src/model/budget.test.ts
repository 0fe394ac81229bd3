import { expect, test } from 'vitest';
import { refusalOf } from './budget.ts';

const free = { replicaMicros: null, monthlyMicros: null, spentByReplica: 0, spentInMonth: 0 };
const spent = { spentByReplica: 2_500_000, spentInMonth: 7_000_000 };

test.each([
  ['nothing is limited', { ...free, ...spent }],
  ['the replica has some left', { ...free, ...spent, replicaMicros: 2_500_001 }],
  ['the organization has some left', { ...free, ...spent, monthlyMicros: 7_000_001 }],
])('nothing is refused while %s', (_what, state) => {
  expect(refusalOf(state)).toBeNull();
});

test.each([
  [
    'a replica may spend nothing',
    { ...free, replicaMicros: 0 },
    /^The model budget of this replica \(\$0\.00\)/,
  ],
  [
    'a replica has spent all',
    { ...free, ...spent, replicaMicros: 2_500_000 },
    /this replica \(\$2\.50\) is spent/,
  ],
  ['an organization may spend nothing', { ...free, monthlyMicros: 0 }, /^The organization's model budget/],
  [
    'an organization has spent more',
    { ...free, ...spent, monthlyMicros: 1 },
    /this month \(\$0\.00\) is spent/,
  ],
  ['both have', { ...spent, replicaMicros: 1, monthlyMicros: 1 }, /^The model budget of this replica/],
])('a sentence says what to do when %s', (_what, state, sentence) => {
  expect(refusalOf(state)).toMatch(sentence);
  expect(refusalOf(state)).toMatch(/PUT \/v1\/\S+model-budget; queued messages wait for that\.$/);
});
