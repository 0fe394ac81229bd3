import { type Insertable, type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import { prepared } from '../db/prepared.ts';
import type { GitEvent } from '../db/schema.ts';

export type GitEventRow = Selectable<GitEvent>;

/** A signature is checked for each of them, over a body that anybody may have sent. */
const MAX_SECRETS = 1_000;
/** One repository can be connected under spellings that differ in their case; nobody leaves others no room by that. */
const MAX_SPELLINGS = 4;

/** What a git host of an organization signs with. */
export type SecretRow = { id: string; webhook_secret: Buffer };

/** A repository of an organization that takes the events of its host. `id` and the secret are the host's. */
export type Listener = SecretRow & { organization_id: string; repository_id: string; host: string };

/**
 * The repositories that have this URL, whatever its case, over all organizations that have a secret for the host.
 * `urlKey` is in lower case.
 */
export const selectListeners: (
  db: Db,
  wanted: { kind: string; host: string; urlKey: string },
) => Promise<Listener[]> = prepared(['kind', 'host', 'urlKey'], (db, { kind, host, urlKey }) =>
  db
    .selectFrom(
      db
        .selectFrom('repository')
        .innerJoin('git_host', 'git_host.organization_id', 'repository.organization_id')
        .select([
          'repository.organization_id',
          'repository.id as repository_id',
          'git_host.id',
          'git_host.host',
        ])
        .select((row) => [
          row.ref('git_host.webhook_secret').$notNull().as('webhook_secret'),
          row.fn
            .agg<number>('row_number')
            .over((over) => over.partitionBy('repository.organization_id').orderBy('repository.id'))
            .as('place'),
        ])
        .where((is) => is(is.fn('lower', ['repository.url_key']), '=', urlKey))
        .where('git_host.host', '=', host)
        .where('git_host.kind', '=', kind)
        .where('git_host.webhook_secret', 'is not', null)
        .as('spelled'),
    )
    .select(['organization_id', 'repository_id', 'id', 'host', 'webhook_secret'])
    .where('place', '<=', sql.lit(MAX_SPELLINGS))
    .orderBy('organization_id')
    .orderBy('repository_id')
    .limit(sql.lit(MAX_SECRETS)),
);

/** What hosts of a kind, or one of them, sign with, over all organizations. */
export function selectSecrets(db: Db, wanted: { kind: string; host?: string }): Promise<SecretRow[]> {
  const { kind, host = null } = wanted;
  return db
    .selectFrom('git_host')
    .select('id')
    .select((row) => row.ref('webhook_secret').$notNull().as('webhook_secret'))
    .where('kind', '=', kind)
    .where('webhook_secret', 'is not', null)
    .$if(host !== null, (query) => query.where('host', '=', host ?? ''))
    .orderBy('id')
    .limit(MAX_SECRETS)
    .execute();
}

export async function insertEvent(db: Db, row: Insertable<GitEvent>): Promise<void> {
  await db.insertInto('git_event').values(row).execute();
}

/** The oldest event of a repository after the one of that id. */
export function selectNextEvent(
  db: Db,
  { repositoryId, afterId }: { repositoryId: string; afterId: string | null },
): Promise<GitEventRow | undefined> {
  return db
    .selectFrom('git_event')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .$if(afterId !== null, (query) => query.where('id', '>', afterId))
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
}

/** Whether it was there: whoever deletes an event is the one who hands it on. */
export async function deleteEvent(db: Db, id: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('git_event').where('id', '=', id).executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Repositories whose oldest event has waited since before that time. */
export async function selectWaiting(
  db: Db,
  { before, limit }: { before: Date; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('git_event')
    .select('repository_id')
    .distinct()
    .where('at', '<', before)
    .limit(limit)
    .execute();
  return rows.map((row) => row.repository_id);
}
