import { describe, expect, test } from 'vitest';
import { fitStates } from './diff-fit.ts';
import type { RepositoryState } from './protocol.ts';

function state(diff: string): RepositoryState {
  const id = '0198c0de-0000-7000-8000-000000000000';
  const nothing = { branch: 'main', head: null, baseCommit: null, added: 1, removed: 0, shadowProblem: null };
  return { id, ...nothing, diff, isDiffCut: false };
}

const bytes = (states: RepositoryState[]) => Buffer.byteLength(JSON.stringify(states));

describe('fitting states into one event', () => {
  test('leaves what fits as it is', () => {
    const states = [state('+a\n'), state('')];
    expect(fitStates(states)).toEqual(states);
  });

  test('cuts only the long diffs, and says so', () => {
    const states = [state('+small\n'), state('+a\n'.repeat(5_000)), state('+\u0001\n'.repeat(4_000))];
    const fitted = fitStates(states, 10_000);
    expect(bytes(fitted)).toBeLessThanOrEqual(10_000);
    expect(fitted.map(({ isDiffCut }) => isDiffCut)).toEqual([false, true, true]);
    expect(fitted[0]?.diff).toBe('+small\n');
    expect(fitted[1]?.diff.length).toBeGreaterThan(2_500);
    expect(fitted[2]?.diff.endsWith('\n')).toBe(true);
  });

  test('a hundred states with long diffs fit into an event', () => {
    const fitted = fitStates(Array.from({ length: 100 }, () => state('+0123456789\n'.repeat(10_000))));
    expect(bytes(fitted)).toBeLessThanOrEqual(3_000_000);
    expect(bytes(fitted)).toBeGreaterThan(2_500_000);
  });
});
