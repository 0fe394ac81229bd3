import { expect, it } from 'vitest';
import type { WorkspacePlan } from './plan.ts';
import { toBootPlan } from './to-boot-plan.ts';

const repository = { id: 'r', name: 'app', url: 'https://git.example/app', branch: 'main' };
const plan: WorkspacePlan = {
  repositories: [repository],
  defaultBranches: { r: 'main' },
  files: [{ path: '~/a', contentBase64: 'YQ==' }],
  variables: { COLOR: 'blue' },
  skills: [],
  mcpServers: {},
  systemPrompt: 'Be brief.',
  hooks: [
    {
      phase: 'warm',
      type: 'environment',
      name: 'web',
      repositoryName: null,
      repository: null,
      commands: ['true'],
      timeoutMs: 1,
      separate: false,
    },
  ],
  problems: ['A skill is missing.'],
};
const hooks = [
  { runId: 'run', phase: 'warm' as const, repository: null, commands: [], timeoutMs: 1, separate: false },
];

it.each([true, false])(
  'an engine gets the workspace, its boot, and nothing else (restore: %s)',
  (restore) => {
    expect(toBootPlan(plan, { id: 'boot', hooks, failOn: 'warm_hook', restore })).toEqual({
      id: 'boot',
      repositories: [{ ...repository, restore }],
      files: plan.files,
      variables: plan.variables,
      skills: [],
      mcpServers: {},
      systemPrompt: 'Be brief.',
      warnings: ['A skill is missing.'],
      hooks,
      failOn: 'warm_hook',
      gitIdentity: { name: 'Replica Service', email: 'replica@localhost' },
    });
  },
);
