import { createHash } from 'node:crypto';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import { deleteOwnComment, insertOwnComment, isOwnComment } from './remark-store.ts';

type Making = { replicaId: string; repositoryId: string; text: string };
type Told = { organizationId: string; repositoryId: string; comment: { text: string; url: string } };

/** A comment whose making has not ended in this time was never made, or was told long ago. */
const MAKING_MS = 10 * 60_000;
/** What tells a comment from others while it has no address. Hosts may change blanks, and the end of it when it is long. */
const COMPARED_CHARACTERS = 2_000;

/**
 * Remembers the comments that replicas make. A host may tell of a comment before whoever made it has heard its address,
 * so that it is known by its text until then.
 */
export function createOwnComments({ now }: { now: () => Date }) {
  async function make(
    db: Db,
    { replicaId, ...draft }: Making,
    send: () => Promise<{ url: string }>,
  ): Promise<{ url: string }> {
    const name = nameOf(draft);
    await insertOwnComment(db, { replicaId, url: name, at: now() });
    const made = await send();
    await transact(db, async (tx) => {
      await insertOwnComment(tx, { replicaId, url: made.url, at: now() });
      await deleteOwnComment(tx, { replicaId, url: name });
    });
    return made;
  }

  /** Whether a replica of the organization has made a comment, or is about to. */
  function isOwn(db: Db, { organizationId, repositoryId, comment: { text, url } }: Told): Promise<boolean> {
    const name = nameOf({ repositoryId, text });
    const since = new Date(now().getTime() - MAKING_MS);
    return isOwnComment(db, { organizationId, url, name, since });
  }

  return { make, isOwn };
}

/** No address begins like that. */
function nameOf({ repositoryId, text }: { repositoryId: string; text: string }): string {
  const compared = text.replace(/\s+/g, ' ').trim().slice(0, COMPARED_CHARACTERS);
  return `making:${repositoryId}:${createHash('sha256').update(compared).digest('hex')}`;
}
