import type { Caller } from '../account/caller.ts';
import { notFound } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { selectPool, selectRecentWorkspaces, selectWorkspace, type WorkspaceRow } from './workspace-store.ts';

const LISTED = 10;

/** The latest workspaces of a pool, newest first. */
export async function readWorkspaces(
  db: Db,
  { organizationId }: Caller,
  poolId: string,
): Promise<WorkspaceRow[]> {
  const pool = await selectPool(db, { organizationId, id: poolId });
  if (!pool) throw notFound('Warm pool');
  return selectRecentWorkspaces(db, pool.id, LISTED);
}

export async function findWorkspace(
  db: Db,
  { organizationId }: Caller,
  workspaceId: string,
): Promise<WorkspaceRow> {
  const row = await selectWorkspace(db, workspaceId);
  if (row?.organization_id !== organizationId) throw notFound('Warm pool workspace');
  return row;
}
