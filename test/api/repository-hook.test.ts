import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let host: GitHost;
let org: Organization;
beforeAll(async () => {
  host = await startGitHost();
  world = await startWorld({ environment: { REPLICA_ALLOW_PRIVATE_TARGETS: 'true' } });
  org = await world.org();
});
afterAll(async () => {
  await world?.close();
  await host?.close();
});

test('hooks are read from the configuration file of the bound repository', async () => {
  const repository = await connect('json', {
    'replica.json': JSON.stringify({
      warmHook: { commands: ['npm ci'], timeout: 60_000, separate: false },
      startHook: { commands: ['npm run db', 'npm start'] },
    }),
  });
  const environment = await bind({ repository_id: repository });
  const common = { repository_id: repository, repository_name: 'json', path: 'replica.json' };
  expect(await read(environment, 'warm')).toEqual({
    repository_hooks: [{ ...common, commands: ['npm ci'], timeout: 60_000, separate: false }],
    error: null,
  });
  expect(await read(environment, 'start')).toEqual({
    repository_hooks: [
      { ...common, commands: ['npm run db', 'npm start'], timeout: 300_000, separate: true },
    ],
    error: null,
  });
});

test('hooks of a set come in the order of the set, from either file format', async () => {
  const yaml = await connect('yaml', { 'replica.yaml': 'warmHook:\n  commands:\n    - make\n' });
  const plain = await connect('plain', { 'README.md': 'nothing here' });
  const old = await connect('old', { 'replicas.json': '{"warmHook":{"commands":["old"]}}' });
  const set = await org.call('POST', '/v1/repository-sets', {
    name: 'all',
    repository_ids: [old, plain, yaml],
  });
  const environment = await bind({ repository_set_id: set.body.repository_set.id });
  const { repository_hooks: hooks, error } = await read(environment, 'warm');
  expect(error).toBeNull();
  expect(hooks.map((hook: { path: string; commands: string[] }) => [hook.path, hook.commands])).toEqual([
    ['replicas.json', ['old']],
    ['replica.yaml', ['make']],
  ]);
});

test('a configuration file that cannot be read is an error that names the repository', async () => {
  const repository = await connect('broken', { 'replica.json': '{"warmHook":' });
  const { repository_hooks, error } = await read(await bind({ repository_id: repository }), 'warm');
  expect(repository_hooks).toEqual([]);
  expect(error).toContain('broken: ');
});

test('a repository that is not there is an error that names it', async () => {
  const url = host.url('absent');
  const { body } = await org.call('POST', '/v1/repositories', { name: 'absent', url });
  const { repository_hooks, error } = await read(await bind({ repository_id: body.repository.id }), 'start');
  expect(repository_hooks).toEqual([]);
  expect(error).toContain('absent: ');
});

async function connect(name: string, files: Record<string, string>): Promise<string> {
  await host.createRepository(name, files);
  const { body } = await org.call('POST', '/v1/repositories', { name, url: host.url(name) });
  return body.repository.id;
}

async function bind(binding: Record<string, string>): Promise<string> {
  const { body } = await org.call('POST', '/v1/environments', { name: newId(), ...binding });
  return body.environment.id;
}

async function read(environment: string, kind: 'warm' | 'start') {
  const answer = await org.call('GET', `/v1/environments/${environment}/${kind}-hooks/repository-hooks`);
  expect(answer.status).toBe(200);
  return answer.body;
}
