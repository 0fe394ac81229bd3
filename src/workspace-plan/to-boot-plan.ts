import type { BootHook, BootPlan } from '../engine/protocol.ts';
import type { WorkspacePlan } from './plan.ts';

type Boot = {
  id: string;
  /** Those of the plan that run in this boot, once their runs are written down. */
  hooks: BootHook[];
  failOn: BootPlan['failOn'];
  /** Whether repositories are built from what the gateway keeps of them. */
  restore: boolean;
};

/** The plan of a workspace as an engine is given it for one boot. */
export function toBootPlan(plan: WorkspacePlan, { id, hooks, failOn, restore }: Boot): BootPlan {
  const { problems: warnings, defaultBranches: _branches, ...workspace } = plan;
  return {
    ...workspace,
    id,
    repositories: plan.repositories.map((repository) => ({ ...repository, restore })),
    warnings,
    hooks,
    failOn,
    gitIdentity: { name: 'Replica Service', email: 'replica@localhost' },
  };
}
