import type { automationOperations } from '../../../src/contract/automation.ts';
import type { Examples } from '../example.ts';
import type { Fixture } from '../fixture.ts';

const automationOf = (f: Fixture) => ({ params: { id: f.automationId } });

/** Fires at the turn of the year only, which no test waits for. */
const yearly = { type: 'cron', config: { schedule: '0 0 1 1 *', timezone: 'Europe/Berlin' } } as const;

export const automationExamples: Examples<typeof automationOperations> = {
  listAutomations: () => ({
    query: { page: 1, limit: 100, scope: 'all', enabled: 'true', trigger_type: 'cron', search: 'n' },
  }),
  createAutomation: (f, as) => ({
    body: {
      name: f.stage.unique('nightly'),
      description: 'Looks after the repository',
      prompt: 'Update what is out of date.',
      environment_id: f.plainEnvironmentId,
      triggers: [
        yearly,
        { type: 'github', config: { event: 'pull_request.opened', repository_ids: [f.repositoryId] } },
        { type: 'custom' },
      ],
      scope: as === 'org_key' ? 'org' : 'user',
      debounce_seconds: 5,
      workspace_lifecycle_policy: 'delete_when_done',
      workspace_auto_stop_minutes: 30,
      workspace_size: 'large',
      config: { preferences: { keep_open_on_pr_merge: true } },
      agent_provider: 'codex',
      model: 'gpt-5',
      thinking_level: 'low',
      goal_mode: true,
      webhook_secret: 'secret',
    },
  }),
  previewSchedule: () => ({ query: { schedule: '30 6 * * MON-FRI', timezone: 'Europe/Berlin' } }),
  getAutomation: automationOf,
  updateAutomation: (f) => ({
    ...automationOf(f),
    body: {
      name: f.stage.unique('nightly'),
      environment_id: f.plainEnvironmentId,
      triggers: [yearly],
      agent_provider: null,
      debounce_seconds: null,
    },
  }),
  deleteAutomation: async (f) => ({
    params: {
      id: await f.make('/v1/automations', {
        name: f.stage.unique('nightly'),
        prompt: 'Update.',
        environment_id: f.plainEnvironmentId,
        triggers: [yearly],
      }),
    },
  }),
  triggerAutomation: (f) => ({ ...automationOf(f), query: {}, body: '{}' }),
  listExecutions: (f) => ({ ...automationOf(f), query: { page: 1, limit: 20 } }),
};
