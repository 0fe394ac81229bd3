import { publicStatus } from '../replica/lifecycle.ts';
import type { ReplicaRow } from '../replica/service.ts';

/** Whether a replica is deleted or has failed: nothing that is said of it matters any more. */
export function isOver({ state }: Pick<ReplicaRow, 'state'>): boolean {
  const status = publicStatus[state];
  return status === null || status === 'error';
}
