import type { Db } from '../db/database.ts';
import * as store from './log-store.ts';
import { type HookRunRow, selectOutput } from './store.ts';

export type { OutputPlace } from './log-store.ts';

/** How many logs of each phase are listed: a replica that wakes often has its start hooks run as often. */
const LISTED_PER_PHASE = 50;
/** Pieces of output that are read at once; each may be large. */
const PIECES = 10;

/** The logs of a replica: warm ones first, then start ones, each in the order in which they ran. */
export function listLogs(db: Db, owner: store.LogOwner): Promise<HookRunRow[]> {
  return store.selectLogs(db, owner, LISTED_PER_PHASE);
}

/** The run whose log stands at a place of the list. */
export function findLogId(db: Db, owner: store.LogOwner, index: number): Promise<string | null> {
  return store.selectLogId(db, owner, { index, perPhase: LISTED_PER_PHASE });
}

/** Everything a hook has written so far, in pieces. */
export async function* readOutput(db: Db, runId: string): AsyncGenerator<string> {
  let after = 0;
  for (;;) {
    const pieces = await selectOutput(db, { runId, after, limit: PIECES });
    for (const piece of pieces) yield piece.text;
    if (pieces.length < PIECES) return;
    after = pieces.at(-1)?.seq ?? after;
  }
}

/** What the hooks of a warm workspace have written after a place; nothing when there is no more. */
export function readWorkspaceOutput(
  db: Db,
  wanted: { warmWorkspaceId: string; after: store.OutputPlace },
): Promise<(store.OutputPlace & { text: string })[]> {
  return store.selectWorkspaceOutput(db, { ...wanted, limit: PIECES });
}

/** Whether hooks of a replica's latest boot have yet to end. */
export function hasUnfinishedHooks(db: Db, replicaId: string): Promise<boolean> {
  return store.hasUnfinishedRuns(db, replicaId);
}
