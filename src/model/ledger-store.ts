import { type Insertable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { ModelUsage } from '../db/schema.ts';

export type TokenSums = {
  requests: number;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  cost_micros: number;
  has_unpriced: boolean;
  is_offline: boolean;
};

export async function insertUsage(db: Db, row: Insertable<ModelUsage>): Promise<void> {
  await db.insertInto('model_usage').values(row).execute();
}

/** Sums over what was asked for in a replica, of each message. */
export function sumByMessage(
  db: Db,
  key: { replicaId: string; limit: number },
): Promise<(TokenSums & { chat_id: string; message_id: string | null })[]> {
  return db
    .selectFrom('model_usage')
    .select(['chat_id', 'message_id', ...sums])
    .where('replica_id', '=', key.replicaId)
    .groupBy(['chat_id', 'message_id'])
    .orderBy(sql`max(at)`, 'desc')
    .limit(key.limit)
    .execute();
}

export function sumByChat(db: Db, key: { replicaId: string }): Promise<(TokenSums & { chat_id: string })[]> {
  return db
    .selectFrom('model_usage')
    .select(['chat_id', ...sums])
    .where('replica_id', '=', key.replicaId)
    .groupBy('chat_id')
    .orderBy(sql`min(at)`)
    .execute();
}

export function sumOfReplica(db: Db, key: { replicaId: string }): Promise<TokenSums> {
  return db
    .selectFrom('model_usage')
    .select(sums)
    .where('replica_id', '=', key.replicaId)
    .executeTakeFirstOrThrow();
}

export function sumOfOrganization(
  db: Db,
  key: { organizationId: string; start: Date; end: Date },
): Promise<TokenSums> {
  return db
    .selectFrom('model_usage')
    .select(sums)
    .where('organization_id', '=', key.organizationId)
    .where('at', '>=', key.start)
    .where('at', '<', key.end)
    .executeTakeFirstOrThrow();
}

const total = (column: string) => sql<number>`coalesce(sum(${sql.ref(column)}), 0)::float8`;

const sums = [
  sql<number>`count(*)::int`.as('requests'),
  total('input_tokens').as('input_tokens'),
  total('output_tokens').as('output_tokens'),
  total('cache_read_tokens').as('cache_read_tokens'),
  total('cache_write_tokens').as('cache_write_tokens'),
  total('cost_micros').as('cost_micros'),
  sql<boolean>`coalesce(bool_or(cost_micros is null), false)`.as('has_unpriced'),
  sql<boolean>`coalesce(bool_or(is_offline), false)`.as('is_offline'),
] as const;
