import { sql } from 'kysely';
import type { Db } from '../db/database.ts';
import { prepared } from '../db/prepared.ts';

export type BudgetState = {
  replicaMicros: number | null;
  monthlyMicros: number | null;
  spentByReplica: number;
  spentInMonth: number;
};

/** Both budgets and what is spent of them. Nothing is added up where there is no budget. */
export async function selectBudgets(
  db: Db,
  key: { replicaId: string; monthStart: Date },
): Promise<BudgetState | undefined> {
  const { replicaId, monthStart } = key;
  const [row] = await selectSpent(db, { replicaId, monthStart: monthStart.toISOString() });
  return (
    row && {
      replicaMicros: toNumber(row.model_budget_micros),
      monthlyMicros: toNumber(row.monthly_micros),
      spentByReplica: row.spent_by_replica,
      spentInMonth: row.spent_in_month,
    }
  );
}

const selectSpent = prepared(['replicaId', 'monthStart'], (db, { replicaId, monthStart }) =>
  db
    .selectFrom('replica')
    .leftJoin('model_budget', 'model_budget.organization_id', 'replica.organization_id')
    .select([
      'replica.model_budget_micros',
      'model_budget.monthly_micros',
      sql<number>`case when replica.model_budget_micros is not null then
        (select coalesce(sum(cost_micros), 0) from model_usage where replica_id = replica.id) else 0 end::float8`.as(
        'spent_by_replica',
      ),
      sql<number>`case when model_budget.monthly_micros is not null then
        (select coalesce(sum(cost_micros), 0) from model_usage
          where organization_id = replica.organization_id and at >= ${monthStart}::timestamptz) else 0 end::float8`.as(
        'spent_in_month',
      ),
    ])
    .where('replica.id', '=', replicaId),
);

export async function selectMonthly(db: Db, organizationId: string): Promise<number | null> {
  const row = await db
    .selectFrom('model_budget')
    .select('monthly_micros')
    .where('organization_id', '=', organizationId)
    .executeTakeFirst();
  return toNumber(row?.monthly_micros ?? null);
}

export async function upsertMonthly(
  db: Db,
  row: { organizationId: string; micros: number; at: Date },
): Promise<void> {
  const change = { monthly_micros: row.micros, updated_at: row.at };
  await db
    .insertInto('model_budget')
    .values({ organization_id: row.organizationId, ...change })
    .onConflict((conflict) => conflict.column('organization_id').doUpdateSet(change))
    .execute();
}

export async function deleteMonthly(db: Db, organizationId: string): Promise<void> {
  await db.deleteFrom('model_budget').where('organization_id', '=', organizationId).execute();
}

function toNumber(value: string | number | bigint | null): number | null {
  return value === null ? null : Number(value);
}
