import type { Insertable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { ReplicaShadow } from '../db/schema.ts';
import { selectShadow, upsertShadow } from './shadow-store.ts';
import { hasRepository } from './store.ts';

export type ShadowService = ReturnType<typeof createShadowService>;

/** Keeps uncommitted and unpushed work of replicas outside their sandboxes. */
export function createShadowService({ now }: { now: () => Date }) {
  return {
    /** Whether work of this repository may be kept: only of what the replica was made with. */
    isWanted: hasRepository,
    keep: (db: Db, shadow: Omit<Insertable<ReplicaShadow>, 'updated_at'>): Promise<void> =>
      upsertShadow(db, { ...shadow, updated_at: now() }),
    find: selectShadow,
  };
}
