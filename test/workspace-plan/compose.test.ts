import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { type Files, type GitHost, startGitHost } from '../world/git-host.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';
import { type Planner, startPlanner } from './planner.ts';

let world: World;
let host: GitHost;
let planner: Planner;

beforeAll(async () => {
  host = await startGitHost();
  world = await startWorld({ environment: { REPLICA_ALLOW_PRIVATE_TARGETS: 'true' } });
  planner = await startPlanner(world);
});
afterAll(async () => {
  await planner?.close();
  await world?.close();
  await host?.close();
});

const nothing = {
  repositories: [],
  defaultBranches: {},
  files: [],
  variables: {},
  skills: [],
  mcpServers: {},
  systemPrompt: null,
  hooks: [],
  problems: [],
};
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('a plan', () => {
  test('of an organization that has nothing is empty', async () => {
    const org = await world.org();
    expect(await planner.compose(org.id, null)).toEqual(nothing);
    expect(await planner.compose(org.id, newId())).toEqual(nothing);
  });

  test('has variables, files and MCP servers of the environment over those of the Global one', async () => {
    const org = await world.org();
    const id = await makeEnvironment(org);
    await attach(org, 'global', 'variables', { key: 'BOTH', value: 'global' });
    await attach(org, 'global', 'variables', { key: 'LOW', value: 'global' });
    await attach(org, id, 'variables', { key: 'BOTH', value: 'named' });
    await attach(org, id, 'variables', { key: '__proto__', value: 'odd' });
    await attach(org, 'global', 'files', { name: 'a', path: '~/.a', content: 'global' });
    await attach(org, 'global', 'files', { name: 'b', path: '~/b', content: 'ä\n' });
    await attach(org, 'global', 'files', { name: 'c', path: '~/c', content: 'in the way' });
    await attach(org, id, 'files', { name: 'a', path: '/home/replica/.a', content: 'named' });
    await attach(org, id, 'files', { name: 'c', path: '~/c/d', content: 'deep' });
    await attach(org, 'global', 'mcps', { name: 'db', transport: 'stdio', config: { command: 'low' } });
    await attach(org, 'global', 'mcps', {
      name: 'web',
      transport: 'http',
      config: { url: 'https://mcp.example', headers: { authorization: 'secret' }, timeout: 5 },
    });
    await attach(org, id, 'mcps', {
      name: 'db',
      transport: 'stdio',
      config: { command: 'high', args: ['-x'] },
    });

    const plan = await planner.compose(org.id, id);
    expect(Object.entries(plan.variables).sort()).toEqual([
      ['BOTH', 'named'],
      ['LOW', 'global'],
      ['__proto__', 'odd'],
    ]);
    expect(plan.files).toEqual([
      { path: '~/.a', contentBase64: base64('named') },
      { path: '~/b', contentBase64: base64('ä\n') },
      { path: '~/c/d', contentBase64: base64('deep') },
    ]);
    expect(plan.problems).toEqual([expect.stringContaining('~/c of the Global environment is left out')]);
    expect(plan.mcpServers).toEqual({
      db: { transport: 'stdio', command: 'high', args: ['-x'], env: {} },
      web: { transport: 'http', url: 'https://mcp.example', headers: { authorization: 'secret' } },
    });
  });

  test('of an environment that is gone has what the Global one has', async () => {
    const org = await world.org();
    const id = await makeEnvironment(org, { system_prompt: 'Named.' });
    await attach(org, 'global', 'variables', { key: 'LOW', value: 'global' });
    await attach(org, id, 'variables', { key: 'HIGH', value: 'named' });
    await org.call('DELETE', `/v1/environments/${id}`);
    const expected = { ...nothing, variables: { LOW: 'global' } };
    expect(await planner.compose(org.id, id)).toEqual(expected);
    expect(await planner.compose(org.id, null)).toEqual(expected);
  });

  test('of the Global environment itself has everything once', async () => {
    const org = await world.org();
    const { body } = await org.call('GET', '/v1/environments/global');
    await saveHook(org, 'global', 'warm', 'echo low');
    const plan = await planner.compose(org.id, body.environment.id);
    expect(plan.hooks.map(({ type, commands }) => [type, ...commands])).toEqual([['global', 'echo low']]);
  });

  test('has nothing of an environment of another organization', async () => {
    const [org, other] = [await world.org(), await world.org()];
    const id = await makeEnvironment(other, { system_prompt: 'Foreign.' });
    await attach(other, id, 'variables', { key: 'FOREIGN', value: 'x' });
    expect(await planner.compose(org.id, id)).toEqual(nothing);
  });

  test('is not made for who has gone', async () => {
    const org = await world.org();
    const gone = AbortSignal.abort(new Error('gone'));
    await expect(planner.compose(org.id, null, gone)).rejects.toThrow('gone');
  });
});

describe('the plan of a bound environment', () => {
  test('has repositories, prompts and hooks in order', async () => {
    const org = await world.org();
    const web = await connect(org, 'web', {
      'replica.json': JSON.stringify({
        systemPrompt: 'Of web.',
        warmHook: { commands: ['npm ci', 'npm test'], timeout: 60_000 },
        startHook: { commands: ['npm start'], separate: false },
      }),
    });
    const api = await connect(
      org,
      'api',
      { 'replica.yaml': 'systemPrompt: Of api.\n' },
      { default_branch: 'side' },
    );
    const set = await org.call('POST', '/v1/repository-sets', { name: 'all', repository_ids: [web, api] });
    const id = await makeEnvironment(org, {
      system_prompt: 'Of the environment.',
      repository_set_id: set.body.repository_set.id,
    });
    await saveHook(org, 'global', 'warm', 'echo global warm');
    await saveHook(org, 'global', 'start', 'echo global start');
    await saveHook(org, id, 'warm', 'echo old');
    await saveHook(org, id, 'warm', 'echo warm');
    await saveHook(org, id, 'start', 'echo start');
    await world.drainJobs();

    const plan = await planner.compose(org.id, id);
    expect(plan.repositories).toEqual([
      { id: web, name: 'web', url: host.url('web'), branch: 'main' },
      { id: api, name: 'api', url: host.url('api'), branch: 'side' },
    ]);
    expect(plan.defaultBranches).toEqual({ [web]: 'main', [api]: 'side' });
    expect(plan.systemPrompt).toBe('Of the environment.\n\nOf web.\n\nOf api.');
    expect(plan.problems).toEqual([]);
    const of = (phase: string, type: string, name: string, command: string) => ({
      phase,
      type,
      name,
      repositoryName: null,
      repository: null,
      commands: [command],
      timeoutMs: 300_000,
      separate: false,
    });
    const ofWeb = { type: 'repository', name: 'web', repositoryName: 'web', repository: 'web' };
    expect(plan.hooks).toEqual([
      of('warm', 'global', 'global', 'echo global warm'),
      of('warm', 'environment', 'environment', 'echo warm'),
      { phase: 'warm', ...ofWeb, commands: ['npm ci', 'npm test'], timeoutMs: 60_000, separate: true },
      of('start', 'environment', 'global', 'echo global start'),
      of('start', 'environment', 'environment', 'echo start'),
      { phase: 'start', ...ofWeb, commands: ['npm start'], timeoutMs: 300_000, separate: false },
    ]);
  });

  test('has a repository that could never be read, and says so', async () => {
    const org = await world.org();
    const url = host.url('absent');
    const { body } = await org.call('POST', '/v1/repositories', { name: 'absent', url });
    const id = await makeEnvironment(org, { repository_id: body.repository.id });
    await world.drainJobs();
    const plan = await planner.compose(org.id, id);
    expect(plan.repositories).toEqual([{ id: body.repository.id, name: 'absent', url, branch: null }]);
    expect(plan.problems).toEqual([expect.stringMatching(/^absent: .+\.$/)]);
  });
});

describe('bindingOf', () => {
  test('opens the remote of a bound repository, alone or in a set, and of no other', async () => {
    const org = await world.org();
    const login = { username: 'bot', password: 'hunter2' };
    const { body } = await org.call('POST', '/v1/repository-credentials', {
      name: 'bot',
      username: login.username,
      token: login.password,
    });
    const credential_id = body.credential.id;
    const closed = await connect(org, 'closed', { a: '1' }, { credential_id });
    const open = await connect(org, 'open', { a: '1' });
    const set = await org.call('POST', '/v1/repository-sets', { name: 'all', repository_ids: [open] });
    const alone = await makeEnvironment(org, { repository_id: closed });
    const inSet = await makeEnvironment(org, { repository_set_id: set.body.repository_set.id });
    const bare = await makeEnvironment(org);
    const bindingOf = (environmentId: string | null, repositoryId: string, organizationId = org.id) =>
      planner.bindingOf(world.db, { organizationId, environmentId, repositoryId });

    expect(await bindingOf(alone, closed)).toEqual({
      remote: { url: host.url('closed'), credential: { username: 'bot', secret: 'hunter2' } },
      key: `${org.id}/${closed}`,
    });
    expect(await bindingOf(inSet, open)).toEqual({
      remote: { url: host.url('open'), credential: null },
      key: `${org.id}/${open}`,
    });
    const other = await world.org();
    for (const refused of [
      bindingOf(alone, open),
      bindingOf(inSet, closed),
      bindingOf(bare, open),
      bindingOf(null, open),
      bindingOf(newId(), open),
      bindingOf(alone, newId()),
      bindingOf(alone, closed, other.id),
    ]) {
      expect(await refused).toBeNull();
    }
  });
});

async function makeEnvironment(org: Organization, body: object = {}): Promise<string> {
  const answer = await org.call('POST', '/v1/environments', { name: newId(), ...body });
  expect(answer.status).toBe(201);
  return answer.body.environment.id;
}

async function attach(org: Organization, environmentId: string, what: string, body: object): Promise<void> {
  const answer = await org.call('POST', `/v1/environments/${environmentId}/${what}`, body);
  expect(answer.status).toBe(201);
}

async function saveHook(
  org: Organization,
  environmentId: string,
  kind: string,
  content: string,
): Promise<void> {
  const path = `/v1/environments/${environmentId}/${kind}-hooks/save`;
  expect((await org.call('POST', path, { content })).status).toBe(201);
}

async function connect(org: Organization, name: string, files: Files, body: object = {}): Promise<string> {
  await host.createRepository(name, files);
  await host.commit(name, files, { branch: 'side' });
  const answer = await org.call('POST', '/v1/repositories', { name, url: host.url(name), ...body });
  expect(answer.status).toBe(201);
  return answer.body.repository.id;
}
