import type { z } from 'zod';
import type { warmWorkspaceOperations } from '../contract/warm-pool.ts';
import type { WorkspaceRow } from './workspaces.ts';

type Answer = z.input<(typeof warmWorkspaceOperations)['listWarmPoolWorkspaces']['answers'][200]>;
type Workspace = Answer['workspaces'][number];

export type WorkspaceStatus = Workspace['status'];

/** A workspace of a pool as the API shows it. */
export function presentWorkspace(row: WorkspaceRow): Workspace {
  return {
    id: row.id,
    organization_id: row.organization_id,
    warm_pool_config_id: row.warm_pool_id,
    sandbox_id: row.sandbox_id,
    status: statusOf(row),
    generation: row.generation,
    error_message: row.error_message,
    created_at: row.created_at.toISOString(),
  };
}

/** The check constraint of the column allows nothing else. */
export function statusOf({ status }: Pick<WorkspaceRow, 'status'>): WorkspaceStatus {
  return status as WorkspaceStatus;
}
