/** What a pool is like, as far as it matters for what to do next. */
export type PoolSituation = {
  isEnabled: boolean;
  generation: number;
  targetSize: number;
  /** After failures, nothing new is begun before this. */
  nextRetryAt: Date | null;
  /** When a workspace was last claimed. */
  claimedAt: Date | null;
  /** Whether the present generation has a snapshot to start from. */
  hasLayer: boolean;
  /** Workspaces that are not assigned, expired or failed. */
  workspaces: readonly PoolWorkspace[];
};
export type PoolWorkspace = {
  id: string;
  status: 'warming' | 'snapshotting' | 'ready';
  generation: number;
};

export type PoolAction =
  /** Warm a workspace from nothing and keep its disk as the snapshot of this generation. */
  | { kind: 'build' }
  /** Start a workspace from the snapshot. */
  | { kind: 'fill' }
  | { kind: 'expire'; id: string; reason: string };

/** Decides what brings a pool closer to what it shall be. Counts in, actions out. */
export function planPool(pool: PoolSituation, at: Date): PoolAction[] {
  if (!pool.isEnabled || pool.targetSize === 0) {
    return pool.workspaces.map(({ id }) => ({ kind: 'expire', id, reason: 'The warm pool is off.' }));
  }
  const isPresent = (workspace: PoolWorkspace) => workspace.generation === pool.generation;
  const present = pool.workspaces.filter(isPresent);
  const older = pool.workspaces.filter((workspace) => !isPresent(workspace));
  const ready = present.filter(({ status }) => status === 'ready');
  return [
    ...older.filter(({ status }) => status !== 'ready').map(outdated),
    // An older one that is ready is better than none: it goes when a present one has taken its place.
    ...older
      .filter(({ status }) => status === 'ready')
      .slice(Math.max(0, pool.targetSize - ready.length))
      .map(outdated),
    ...ready.slice(pool.targetSize).map(({ id }) => expire(id, 'The warm pool has more than it needs.')),
    ...begin(pool, present.length, at),
  ];
}

/** A claim becomes a replica first; what takes its place would be in its way. */
export const CLAIM_REST_MS = 1_000;

/** One at a time: a machine that prepares for later must not be slow now. */
function begin(pool: PoolSituation, present: number, at: Date): PoolAction[] {
  const isBusy = pool.workspaces.some(
    ({ status, generation }) => status !== 'ready' && generation === pool.generation,
  );
  const isHeldBack = pool.nextRetryAt !== null && pool.nextRetryAt > at;
  const isClaimed = pool.claimedAt !== null && at.getTime() - pool.claimedAt.getTime() < CLAIM_REST_MS;
  if (isBusy || isHeldBack || isClaimed || present >= pool.targetSize) return [];
  return [{ kind: pool.hasLayer ? 'fill' : 'build' }];
}

const outdated = ({ id }: PoolWorkspace) => expire(id, 'What is baked in has changed.');
const expire = (id: string, reason: string): PoolAction => ({ kind: 'expire', id, reason });

const FIRST_RETRY_MS = 5_000;
const SLOWEST_RETRY_MS = 3_600_000;

/** How long a pool waits after so many failures in a row. */
export function retryDelayMs(errorCount: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** Math.max(0, errorCount - 1), SLOWEST_RETRY_MS);
}
