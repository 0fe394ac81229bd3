import type { Caller } from '../account/caller.ts';
import type { Db } from '../db/database.ts';
import type { ReplicaRow, ReplicaService } from '../replica/service.ts';
import * as store from './budget-store.ts';
import { monthOf } from './month.ts';

type Parts = {
  replicas: Pick<ReplicaService, 'hold' | 'update'>;
  /** Let what waits in a replica, or in all of an organization, begin, now that it may. */
  turns: {
    dispatch(db: Db, row: ReplicaRow): Promise<void>;
    dispatchWaiting(db: Db, organizationId: string): Promise<void>;
  };
  now: () => Date;
};

export type ModelBudgets = ReturnType<typeof createModelBudgets>;

/** What agents may spend on models. A budget of zero lets them spend nothing. */
export function createModelBudgets({ replicas, turns, now }: Parts) {
  /** A sentence when nothing more may be spent in a replica. What is being answered at that moment is paid all the same. */
  async function refuse(db: Db, replicaId: string): Promise<string | null> {
    const { start: monthStart } = monthOf(now());
    const state = await store.selectBudgets(db, { replicaId, monthStart });
    return state ? refusalOf(state) : null;
  }

  return {
    refuse,
    mayStart: async (db: Db, replicaId: string) => (await refuse(db, replicaId)) === null,
    monthly: (db: Db, caller: Pick<Caller, 'organizationId'>) =>
      store.selectMonthly(db, caller.organizationId),

    async setMonthly(db: Db, { organizationId }: Caller, micros: number): Promise<void> {
      await store.upsertMonthly(db, { organizationId, micros, at: now() });
      await turns.dispatchWaiting(db, organizationId);
    },

    async removeMonthly(db: Db, { organizationId }: Caller): Promise<void> {
      await store.deleteMonthly(db, organizationId);
      await turns.dispatchWaiting(db, organizationId);
    },

    async setOfReplica(
      db: Db,
      caller: Caller,
      { id, micros }: { id: string; micros: number | null },
    ): Promise<void> {
      const row = await replicas.hold(db, caller, id);
      await replicas.update(db, row, { model_budget_micros: micros });
      if (row.state === 'active') await turns.dispatch(db, row);
    },
  };
}

/** A sentence when what may be spent is spent; the replica's own budget is named first. */
export function refusalOf(state: store.BudgetState): string | null {
  const { replicaMicros, monthlyMicros, spentByReplica, spentInMonth } = state;
  if (replicaMicros !== null && spentByReplica >= replicaMicros)
    return `The model budget of this replica (${dollars(replicaMicros)}) is spent. Raise it with PUT /v1/replica/{id}/model-budget; queued messages wait for that.`;
  if (monthlyMicros !== null && spentInMonth >= monthlyMicros)
    return `The organization's model budget for this month (${dollars(monthlyMicros)}) is spent. An admin raises it with PUT /v1/organization/model-budget; queued messages wait for that.`;
  return null;
}

function dollars(micros: number): string {
  return `$${(micros / 1_000_000).toFixed(2)}`;
}
