import { expect, test } from 'vitest';
import { planHooks } from './plan-hooks.ts';

type Sources = Parameters<typeof planHooks>[0];

const hook = (command: string, changes = {}) => ({
  commands: [command],
  timeout: 60_000,
  separate: true,
  ...changes,
});
const repository = (
  name: string,
  configuration: Partial<Sources['repositories'][number]['configuration']>,
) => ({
  id: `id-${name}`,
  name,
  status: 'ready',
  error: null,
  head_commit: 'c0ffee',
  configuration: {
    path: 'replica.json',
    error: null,
    systemPrompt: null,
    warmHook: null,
    startHook: null,
    ...configuration,
  },
});

const sources: Sources = {
  environments: [
    { id: 'g', is_global: true },
    { id: 'n', is_global: false },
  ],
  hooks: [
    { environment_id: 'n', kind: 'start', content: 'named start' },
    { environment_id: 'n', kind: 'warm', content: 'named warm' },
    { environment_id: 'g', kind: 'start', content: 'global start' },
    { environment_id: 'g', kind: 'warm', content: 'global warm' },
  ],
  repositories: [
    repository('web', { warmHook: hook('web warm'), startHook: hook('web start') }),
    repository('docs', {}),
    repository('api', { startHook: hook('api start', { timeout: 3_600_000, separate: false }) }),
  ],
  folders: new Map([
    ['id-web', 'web'],
    ['id-api', 'api-2'],
  ]),
};

const shown = (phases: ('warm' | 'start')[], from = sources) =>
  planHooks(from, phases).map(({ commands, type, name }) => `${commands} (${type} ${name})`);

const warm = [
  'global warm (global global)',
  'named warm (environment environment)',
  'web warm (repository web)',
];
const start = [
  'global start (environment global)',
  'named start (environment environment)',
  'web start (repository web)',
  'api start (repository api)',
];

test.each([
  ['no phase', [], []],
  ['warm', ['warm' as const], warm],
  ['start', ['start' as const], start],
  ['both', ['warm' as const, 'start' as const], [...warm, ...start]],
  ['both in the other order', ['start' as const, 'warm' as const], [...warm, ...start]],
])('hooks of %s come in the order in which they run', (_, phases, expected) => {
  expect(shown(phases)).toEqual(expected);
});

test('without a named environment the hooks of the Global one are left', () => {
  const global = { ...sources, environments: sources.environments.slice(0, 1), repositories: [] };
  expect(shown(['warm', 'start'], global)).toEqual([warm[0], start[0]]);
});

test('a hook of an environment is one command with the default time', () => {
  expect(planHooks({ ...sources, repositories: [] }, ['warm'])[1]).toEqual({
    phase: 'warm',
    type: 'environment',
    name: 'environment',
    repositoryName: null,
    repository: null,
    commands: ['named warm'],
    timeoutMs: 300_000,
    separate: false,
  });
});

test("a repository's hook keeps its settings, in its folder, within the longest time", () => {
  expect(planHooks(sources, ['start']).at(-1)).toEqual({
    phase: 'start',
    type: 'repository',
    name: 'api',
    repositoryName: 'api',
    repository: 'api-2',
    commands: ['api start'],
    timeoutMs: 900_000,
    separate: false,
  });
});
