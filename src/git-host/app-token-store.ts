import type { Selectable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { InstallationToken } from '../db/schema.ts';

type Key = { credentialId: string; scope: string };
/** The right to make a token, until a time that tells it from the right of whoever comes after. */
export type TokenTurn = { id: string; until: Date };

export function selectToken(db: Db, key: Key): Promise<Selectable<InstallationToken> | undefined> {
  return db
    .selectFrom('installation_token')
    .selectAll()
    .where('repository_credential_id', '=', key.credentialId)
    .where('scope', '=', key.scope)
    .executeTakeFirst();
}

/** Undefined when somebody else makes the token, or has just made it. */
export async function claimToken(
  db: Db,
  wanted: Key & { id: string; now: Date; staleAt: Date; until: Date },
): Promise<TokenTurn | undefined> {
  const { credentialId, scope, id, until } = wanted;
  const row = await db
    .insertInto('installation_token')
    .values({ id, repository_credential_id: credentialId, scope, making_until: until })
    .onConflict((conflict) =>
      conflict
        .constraint('installation_token_scope_key')
        .doUpdateSet({ making_until: until })
        .where(({ and, or, eb }) =>
          and([
            or([
              eb('installation_token.making_until', 'is', null),
              eb('installation_token.making_until', '<', wanted.now),
            ]),
            or([
              eb('installation_token.expires_at', 'is', null),
              eb('installation_token.expires_at', '<=', wanted.staleAt),
            ]),
          ]),
        ),
    )
    .returning('id')
    .executeTakeFirst();
  return row && { id: row.id, until };
}

/** A token that was made too late for its turn is kept all the same: it works. */
export async function keepToken(
  db: Db,
  turn: TokenTurn,
  made: { token: Buffer; made_at: Date; expires_at: Date },
): Promise<void> {
  await db
    .updateTable('installation_token')
    .set({ ...made, making_until: null })
    .where('id', '=', turn.id)
    .execute();
}

/** Forgets a token, unless another one is in its place or it was made after that time. */
export async function dropToken(
  db: Db,
  refused: { id: string; token: Buffer; madeBefore: Date },
): Promise<void> {
  await db
    .updateTable('installation_token')
    .set({ token: null, expires_at: null })
    .where('id', '=', refused.id)
    .where('token', '=', refused.token)
    .where('made_at', '<', refused.madeBefore)
    .execute();
}

/** Lets another one try. */
export async function leaveToken(db: Db, turn: TokenTurn): Promise<void> {
  await db
    .updateTable('installation_token')
    .set({ making_until: null })
    .where('id', '=', turn.id)
    .where('making_until', '=', turn.until)
    .execute();
}
