import { v5 } from 'uuid';

/** The boot that warms a workspace from nothing; it follows from the workspace, so that a second try is the same boot. */
export function buildIdOf(workspace: { id: string }): string {
  return v5('warm', workspace.id);
}
