import { type Insertable, type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import { prepared } from '../db/prepared.ts';
import type { Sandbox } from '../db/schema.ts';

export type SandboxRow = Selectable<Sandbox>;

export function insertSandbox(db: Db, row: Insertable<Sandbox>): Promise<SandboxRow> {
  return db.insertInto('sandbox').values(row).returningAll().executeTakeFirstOrThrow();
}

export function selectSandbox(db: Db, id: string): Promise<SandboxRow | undefined> {
  return db.selectFrom('sandbox').selectAll().where('id', '=', id).executeTakeFirst();
}

export function lockSandbox(db: Db, id: string): Promise<SandboxRow | undefined> {
  return db.selectFrom('sandbox').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

export async function selectSandboxBySecret(db: Db, hash: Buffer): Promise<SandboxRow | undefined> {
  const [row] = await selectBySecret(db, { hash });
  return row;
}

const selectBySecret = prepared(['hash'], (db, { hash }) =>
  db
    .selectFrom('sandbox')
    .selectAll()
    .where('removing_at', 'is', null)
    .where('secret_hash', '=', sql<Buffer>`${hash}`),
);

export function selectSandboxesOfHost(db: Db, hostId: string): Promise<SandboxRow[]> {
  return db.selectFrom('sandbox').selectAll().where('host_id', '=', hostId).execute();
}

/** The next start of a sandbox; its engine's events continue to be numbered as before. */
export function bumpIncarnation(db: Db, id: string): Promise<SandboxRow> {
  return db
    .updateTable('sandbox')
    .set((eb) => ({ incarnation: eb('incarnation', '+', 1), started_at: null }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function markStarted(
  db: Db,
  started: { id: string; incarnation: number; at: Date },
): Promise<void> {
  await db
    .updateTable('sandbox')
    .set({ started_at: started.at })
    .where('id', '=', started.id)
    .where('incarnation', '=', started.incarnation)
    .execute();
}

/** Stopped on purpose: nobody expects it to run. */
export async function markStopped(db: Db, id: string): Promise<void> {
  await db.updateTable('sandbox').set({ started_at: null }).where('id', '=', id).execute();
}

export async function markRemoving(db: Db, id: string, at: Date): Promise<SandboxRow | undefined> {
  return db
    .updateTable('sandbox')
    .set((eb) => ({ removing_at: eb.fn.coalesce('removing_at', eb.val(at)) }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
}

/** Gives a warm sandbox to a replica. */
export async function giveToReplica(db: Db, given: { id: string; replicaId: string }): Promise<void> {
  await db
    .updateTable('sandbox')
    .set({ purpose: 'replica', replica_id: given.replicaId })
    .where('id', '=', given.id)
    .execute();
}

export async function setAcked(db: Db, id: string, seq: number): Promise<void> {
  await db
    .updateTable('sandbox')
    .set({ acked_seq: String(seq) })
    .where('id', '=', id)
    .execute();
}

export async function deleteSandbox(db: Db, id: string): Promise<void> {
  await db.deleteFrom('sandbox').where('id', '=', id).execute();
}
