import { describe, expect, it } from 'vitest';
import {
  nextState,
  publicStatus,
  type ReplicaReport,
  type ReplicaRequest,
  type ReplicaState,
  replicaReports,
  replicaRequests,
  replicaStates,
  statesOf,
  workOwed,
} from './lifecycle.ts';

type Row = Record<ReplicaRequest | ReplicaReport, ReplicaState | '-'>;

/** The whole matrix, written out once more by hand so that a change of the table is a change here. */
const matrix: Record<ReplicaState, Row> = {
  preparing: row('preparing - - deleting active - preparing failed -'),
  active: row('active falling_asleep archiving deleting - - waking falling_asleep -'),
  falling_asleep: row('waking falling_asleep archiving deleting - sleeping - - -'),
  sleeping: row('waking sleeping archived deleting - - - - -'),
  waking: row('waking falling_asleep archiving deleting active - waking falling_asleep -'),
  archiving: row('waking archiving archiving deleting - archived - - -'),
  archived: row('waking archived archived deleting - - - - -'),
  failed: row('- - - deleting - - - - -'),
  deleting: row('- - - deleting - - - - deleted'),
  deleted: row('- - - deleted - - - - -'),
};

function row(text: string): Row {
  const cells = text.split(' ');
  const events = [...replicaRequests, ...replicaReports];
  return Object.fromEntries(events.map((event, index) => [event, cells[index]])) as Row;
}

describe('the lifecycle of a replica', () => {
  const pairs = replicaStates.flatMap((state) =>
    [...replicaRequests, ...replicaReports].map((event) => ({ state, event })),
  );

  it.each(pairs)('$event in $state', ({ state, event }) => {
    expect(nextState(state, event) ?? '-').toBe(matrix[state][event]);
  });

  it('can be deleted from every state', () => {
    for (const state of replicaStates) expect(nextState(state, 'delete')).toMatch(/^delet(ing|ed)$/);
  });

  it('owes work in every state that callers see as being on its way', () => {
    const waiting = replicaStates.filter((state) => workOwed[state] !== null);
    expect(waiting).toEqual(['preparing', 'falling_asleep', 'waking', 'archiving', 'failed', 'deleting']);
  });

  it('reaches a state without work from every state by reports alone', () => {
    for (const state of replicaStates) {
      const reached = new Set<ReplicaState>([state]);
      for (const from of reached) {
        for (const report of replicaReports) {
          const to = nextState(from, report);
          if (to) reached.add(to);
        }
      }
      const isSettled = [...reached].some((each) => workOwed[each] === null || each === 'failed');
      expect(isSettled, state).toBe(true);
    }
  });

  it('shows each state under one status and finds it again by that status', () => {
    for (const state of replicaStates) {
      const status = publicStatus[state];
      if (status) expect(statesOf(status)).toContain(state);
    }
  });
});
