import type { Db } from '../db/database.ts';
import { minuteRateMicros } from './price.ts';
import { closeStretch, openStretch, selectStretches } from './stretch-store.ts';
import { createTally, type Tally, type UsageGrouping } from './tally.ts';
import type { UsageWindow } from './window.ts';

type Parts = { newId: () => string };
type Replica = { id: string; organization_id: string; source: string; size: string | null };

type Question = { organizationId: string; window: UsageWindow; grouping: UsageGrouping; at: Date };

/** Stretches that are read at once. */
const BATCH = 2_000;

export type UsageService = ReturnType<typeof createUsageService>;

export function createUsageService({ newId }: Parts) {
  return {
    /** A replica became active; a second word of it changes nothing. */
    open(db: Db, replica: Replica, at: Date): Promise<void> {
      return openStretch(db, {
        id: newId(),
        organization_id: replica.organization_id,
        replica_id: replica.id,
        source: replica.source,
        rate_micros: minuteRateMicros(replica.size),
        started_at: at,
      });
    },

    /** A replica is no longer active. */
    close(db: Db, replica: Replica, at: Date): Promise<void> {
      return closeStretch(db, { replicaId: replica.id, at });
    },

    /** What the replicas of an organization have used within a window. */
    async read(db: Db, asked: Question): Promise<ReturnType<Tally['result']>> {
      const tally = createTally(asked);
      let after: { started_at: Date; id: string } | null = null;
      for (;;) {
        const rows = await selectStretches(db, { ...asked, after, limit: BATCH });
        for (const row of rows) {
          tally.add({
            replicaId: row.replica_id,
            source: row.source,
            rateMicros: row.rate_micros,
            startedAt: row.started_at,
            endedAt: row.ended_at,
          });
        }
        after = rows.at(-1) ?? null;
        if (rows.length < BATCH) return tally.result();
      }
    },
  };
}
