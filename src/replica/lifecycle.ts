/** Where a replica is in its life. What callers see of it is `publicStatus`. */
export const replicaStates = [
  'preparing',
  'active',
  'falling_asleep',
  'sleeping',
  'waking',
  'archiving',
  'archived',
  'failed',
  'deleting',
  'deleted',
] as const;
export type ReplicaState = (typeof replicaStates)[number];

/** What a caller or a policy may ask for. */
export const replicaRequests = ['wake', 'sleep', 'archive', 'delete'] as const;
export type ReplicaRequest = (typeof replicaRequests)[number];

/** What workers and engines report. */
export const replicaReports = ['booted', 'suspended', 'lost', 'failed', 'destroyed'] as const;
export type ReplicaReport = (typeof replicaReports)[number];

/**
 * Every move there is. A request that leads to the state itself asks for what is already so and changes nothing; a
 * report that does means that the state's work begins anew. What is not here is refused, or dropped when reported.
 */
const moves: Record<ReplicaState, Partial<Record<ReplicaRequest | ReplicaReport, ReplicaState>>> = {
  preparing: {
    wake: 'preparing',
    delete: 'deleting',
    booted: 'active',
    lost: 'preparing',
    failed: 'failed',
  },
  active: {
    wake: 'active',
    sleep: 'falling_asleep',
    archive: 'archiving',
    delete: 'deleting',
    lost: 'waking',
    // What cannot be started again keeps its disk: it sleeps until somebody tries once more.
    failed: 'falling_asleep',
  },
  falling_asleep: {
    wake: 'waking',
    sleep: 'falling_asleep',
    archive: 'archiving',
    delete: 'deleting',
    suspended: 'sleeping',
  },
  sleeping: { wake: 'waking', sleep: 'sleeping', archive: 'archived', delete: 'deleting' },
  waking: {
    wake: 'waking',
    sleep: 'falling_asleep',
    archive: 'archiving',
    delete: 'deleting',
    booted: 'active',
    lost: 'waking',
    failed: 'falling_asleep',
  },
  archiving: {
    wake: 'waking',
    sleep: 'archiving',
    archive: 'archiving',
    delete: 'deleting',
    suspended: 'archived',
  },
  archived: { wake: 'waking', sleep: 'archived', archive: 'archived', delete: 'deleting' },
  failed: { delete: 'deleting' },
  deleting: { delete: 'deleting', destroyed: 'deleted' },
  deleted: { delete: 'deleted' },
};

/** The state after a request or a report, null when it does not fit the present one. */
export function nextState(state: ReplicaState, event: ReplicaRequest | ReplicaReport): ReplicaState | null {
  return moves[state][event] ?? null;
}

export type PublicStatus = 'preparing' | 'active' | 'sleeping' | 'archived' | 'error';

/** What callers see; null is a replica that is gone for them. */
export const publicStatus: Record<ReplicaState, PublicStatus | null> = {
  preparing: 'preparing',
  active: 'active',
  falling_asleep: 'sleeping',
  sleeping: 'sleeping',
  waking: 'sleeping',
  archiving: 'archived',
  archived: 'archived',
  failed: 'error',
  deleting: null,
  deleted: null,
};

export type ReplicaWork = 'start' | 'suspend' | 'free' | 'destroy';

/** What a worker must do for a replica in this state; null when it waits for nobody. */
export const workOwed: Record<ReplicaState, ReplicaWork | null> = {
  preparing: 'start',
  active: null,
  falling_asleep: 'suspend',
  sleeping: null,
  waking: 'start',
  archiving: 'suspend',
  archived: null,
  failed: 'free',
  deleting: 'destroy',
  deleted: null,
};

/** The states callers name by one status, for filters. */
export function statesOf(status: PublicStatus): ReplicaState[] {
  return replicaStates.filter((state) => publicStatus[state] === status);
}
