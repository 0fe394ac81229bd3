import type { BootPlan, BootRepository } from '../engine/protocol.ts';
import type { PlannedHook } from '../hook-run/service.ts';

/** Everything of a boot plan that follows from an environment. */
export type WorkspacePlan = Pick<
  BootPlan,
  'files' | 'variables' | 'skills' | 'mcpServers' | 'systemPrompt'
> & {
  /** In the order of the binding. */
  repositories: PlannedRepository[];
  /** By the id of the repository; null while only the remote knows it. */
  defaultBranches: Record<string, string | null>;
  /** In the order in which they run. */
  hooks: PlannedHook[];
  /** What is missing or may be old, in sentences for the user. None of it keeps a workspace from starting. */
  problems: string[];
};

export type PlannedRepository = Omit<BootRepository, 'restore'>;
