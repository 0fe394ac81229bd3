import { rename } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { enqueue } from '../../src/work/enqueue.ts';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let host: GitHost;
let org: Organization;
beforeAll(async () => {
  [world, host] = await Promise.all([
    startWorld({ environment: { REPLICA_ALLOW_PRIVATE_TARGETS: 'true' } }),
    startGitHost(),
  ]);
  org = await world.org();
});
afterAll(async () => {
  await world.close();
  await host.close();
});

async function connect(body: Record<string, unknown>) {
  const answer = await org.call('POST', '/v1/repositories', body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.repository;
}

async function check(id: string) {
  const answer = await org.call('POST', `/v1/repositories/${id}/check`);
  expect(answer.status).toBe(200);
  return answer.body.repository;
}

async function readRow(id: string) {
  return world.db.selectFrom('repository').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

async function until<T>(read: () => Promise<T>, isReached: (value: T) => boolean): Promise<T> {
  return expect.poll(read, { timeout: 15_000, interval: 25 }).toSatisfy(isReached).then(read);
}

describe('a repository that can be read', () => {
  test('becomes ready by itself, with branch and head', async () => {
    await host.createRepository('self.git', { 'a.txt': 'a' }, { branch: 'trunk' });
    const { id } = await connect({ url: host.url('self.git') });
    const read = async () => (await org.call('GET', `/v1/repositories/${id}`)).body.repository;
    const repository = await until(read, ({ status }) => status !== 'checking');
    expect(repository).toMatchObject({
      status: 'ready',
      error: null,
      default_branch: 'trunk',
      head_commit: expect.stringMatching(/^[0-9a-f]{40}$/),
      checked_at: expect.any(String),
    });
  });

  test('is read on the branch that was asked for', async () => {
    await host.createRepository('branched.git', { 'a.txt': 'a' });
    const head = await host.commit('branched.git', { 'b.txt': 'b' }, { branch: 'dev' });
    const { id } = await connect({ url: host.url('branched.git'), default_branch: 'dev' });
    expect(await check(id)).toMatchObject({ status: 'ready', default_branch: 'dev', head_commit: head });
    await org.call('PATCH', `/v1/repositories/${id}`, { default_branch: null });
    const followed = await check(id);
    expect(followed).toMatchObject({ status: 'ready', default_branch: 'main' });
    expect(followed.head_commit).not.toBe(head);
  });

  test('is read over file:// when the operator allows private targets', async () => {
    await host.createRepository('local.git', { 'a.txt': 'a' });
    const { id } = await connect({ url: host.fileUrl('local.git') });
    expect(await check(id)).toMatchObject({ status: 'ready', default_branch: 'main' });
  });

  test('gives its configuration file and what it has for agents', async () => {
    await host.createRepository('rich.git', {
      'replica.yaml': 'warmHook:\n  commands: [npm ci]\nsystemPrompt: Be brief.\n',
      'replicas.json': '{ "startHook": { "commands": ["ignored"] } }',
      '.claude/skills/pdf/SKILL.md': '---\nname: pdf\ndescription: Reads PDF files.\n---\n',
      '.claude/commands/git/commit.md': 'Commits everything.\n',
      '.cursor/rules/style.mdc': { link: '/etc/passwd' },
    });
    const { id } = await connect({ url: host.url('rich.git') });
    await check(id);
    const row = await readRow(id);
    expect(row.configuration).toEqual({
      path: 'replica.yaml',
      error: null,
      systemPrompt: 'Be brief.',
      warmHook: { commands: ['npm ci'], timeout: 300_000, separate: true },
      startHook: null,
    });
    expect(row.skills).toEqual([
      {
        path: '.claude/commands/git/commit.md',
        kind: 'command',
        framework: 'claude',
        name: 'git/commit',
        description: 'Commits everything.',
      },
      {
        path: '.claude/skills/pdf/SKILL.md',
        kind: 'skill',
        framework: 'claude',
        name: 'pdf',
        description: 'Reads PDF files.',
      },
    ]);
  });

  test.each([
    ['broken', '{ "warmHook": ', 'not valid JSON'],
    ['of a wrong shape', '{ "warmHook": { "commands": "npm ci" } }', 'warmHook.commands'],
    ['with half a character', '{ "systemPrompt": "\\ud800" }', 'not valid Unicode'],
    ['with NUL', '{ "systemPrompt": "\\u0000" }', 'NUL'],
    ['too large', ' '.repeat(65_537), '65536'],
    ['a link', { link: '/etc/passwd' }, 'link'],
  ])('stays ready when its configuration file is %s', async (name, file, sentence) => {
    const repositoryName = `config-${name.replaceAll(' ', '-')}.git`;
    await host.createRepository(repositoryName, { 'replica.json': file });
    const { id } = await connect({ url: host.url(repositoryName) });
    expect(await check(id)).toMatchObject({ status: 'ready', error: null });
    const { configuration } = await readRow(id);
    expect(configuration).toMatchObject({ path: 'replica.json', systemPrompt: null, warmHook: null });
    expect((configuration as { error: string }).error).toContain(sentence);
  });
});

describe('a repository that cannot be read', () => {
  test.each([
    ['does not exist', { url: () => host.url('nowhere.git') }, 'knows no repository'],
    ['is a web page', { url: () => `${world.url}/healthz` }, 'git host'],
    ['does not listen', { url: () => 'http://127.0.0.1:1/a/b' }, 'cannot be reached'],
    ['has no address', { url: () => 'https://git.invalid/a/b' }, 'git.invalid'],
    ['has no such file', { url: () => 'file:///nonexistent/repository' }, 'no repository'],
  ])('shows that it %s', async (name, { url }, sentence) => {
    const { id } = await connect({ url: url(), name });
    const repository = await check(id);
    expect(repository).toMatchObject({ status: 'error', head_commit: null, checked_at: expect.any(String) });
    expect(repository.error).toContain(sentence);
  });

  test('shows that the branch is missing or that there is no commit', async () => {
    await host.createRepository('thin.git', { a: 'a' });
    const missing = await connect({ url: host.url('thin.git'), default_branch: 'gone' });
    expect(await check(missing.id)).toMatchObject({ status: 'error', default_branch: 'gone' });
    expect((await check(missing.id)).error).toContain('branch gone');
    await host.createRepository('empty.git', {});
    const empty = await connect({ url: host.url('empty.git') });
    expect((await check(empty.id)).error).toContain('empty');
  });

  test('keeps what was last read when it is deleted later, and recovers when it is back', async () => {
    await host.createRepository('lost.git', { a: 'a' });
    const { id } = await connect({ url: host.url('lost.git') });
    const before = await check(id);
    await rename(host.path('lost.git'), host.path('away.git'));
    const lost = await check(id);
    expect(lost).toMatchObject({ status: 'error', default_branch: 'main', head_commit: before.head_commit });
    await rename(host.path('away.git'), host.path('lost.git'));
    expect(await check(id)).toMatchObject({ status: 'ready', error: null });
  });
});

test('a credential opens what is closed, and only the right one', async () => {
  const auth = { username: 'robot', password: 'pä:ss word' };
  await host.createRepository('closed.git', { a: 'a' }, { auth });
  const store = async (token: string) => {
    const body = { name: `for ${token}`, username: auth.username, token };
    return (await org.call('POST', '/v1/repository-credentials', body)).body.credential.id;
  };
  const { id } = await connect({ url: host.url('closed.git') });
  const without = await check(id);
  expect(without).toMatchObject({ status: 'error' });
  expect(without.error).toContain('credential is missing or wrong');

  const wrong = await store('wrong');
  const changed = await org.call('PATCH', `/v1/repositories/${id}`, { credential_id: wrong });
  expect(changed.body.repository).toMatchObject({ status: 'checking', error: null, credential_id: wrong });
  expect((await check(id)).error).toContain('credential is missing or wrong');

  await org.call('PATCH', `/v1/repositories/${id}`, { credential_id: await store(auth.password) });
  expect(await check(id)).toMatchObject({ status: 'ready', error: null, default_branch: 'main' });
  await org.call('PATCH', `/v1/repositories/${id}`, { credential_id: null });
  expect(await check(id)).toMatchObject({ status: 'error', credential_id: null });
});

test('a head that moves is seen, and makes the warm workspaces of bound environments stale once', async () => {
  await host.createRepository('moving.git', { 'replica.json': '{}' });
  const { id } = await connect({ url: host.url('moving.git') });
  const set = await org.call('POST', '/v1/repository-sets', { name: 'moving', repository_ids: [id] });
  const bind = async (name: string, binding: Record<string, unknown>) =>
    (await org.call('POST', '/v1/environments', { name, ...binding })).body.environment.id as string;
  const environments = [
    await bind('by itself', { repository_id: id }),
    await bind('in a set', { repository_set_id: set.body.repository_set.id }),
    await bind('unbound', {}),
  ];
  const generations = async () => {
    const pools = await world.db
      .selectFrom('warm_pool')
      .select(['environment_id', 'generation'])
      .where('environment_id', 'in', environments)
      .execute();
    return environments.map((one) => pools.find((pool) => pool.environment_id === one)?.generation);
  };
  const first = await check(id);
  await check(id);
  expect(await generations()).toEqual([1, 1, 1]);

  const head = await host.commit('moving.git', { 'replica.json': '{ "systemPrompt": "new" }' });
  expect(head).not.toBe(first.head_commit);
  expect(await check(id)).toMatchObject({ status: 'ready', head_commit: head });
  expect((await readRow(id)).configuration).toMatchObject({ systemPrompt: 'new' });
  expect(await generations()).toEqual([2, 2, 1]);
  await check(id);
  expect(await generations()).toEqual([2, 2, 1]);

  await org.call('PATCH', `/v1/repositories/${id}`, { default_branch: 'elsewhere' });
  expect(await generations()).toEqual([3, 3, 1]);
  expect(await check(id)).toMatchObject({ status: 'error', head_commit: head });
  expect(await generations()).toEqual([3, 3, 1]);
});

test('a head that did not move is not fetched again', async () => {
  await host.createRepository('still.git', { a: 'a' });
  const { id } = await connect({ url: host.url('still.git') });
  await check(id);
  const seen = host.requests.length;
  await check(id);
  const later = host.requests.slice(seen).filter((request) => request.includes('still.git'));
  expect(later.length).toBeGreaterThan(0);
  expect(
    later.filter((request) => /upload-pack$/.test(request.split('?')[0] ?? '')).length,
  ).toBeLessThanOrEqual(1);
});

test('many questions at the same time are answered, each by a check that began after it', async () => {
  await host.createRepository('busy.git', { a: 'a' });
  const { id } = await connect({ url: host.url('busy.git') });
  const head = await host.commit('busy.git', { a: 'b' });
  const answers = await Promise.all(Array.from({ length: 12 }, () => check(id)));
  for (const answer of answers) expect(answer).toMatchObject({ status: 'ready', head_commit: head });
});

test('what was not checked for a while is checked again', async () => {
  await host.createRepository('aged.git', { a: 'a' });
  const { id } = await connect({ url: host.url('aged.git') });
  await check(id);
  const head = await host.commit('aged.git', { a: 'b' });
  const longAgo = new Date(Date.now() - 6 * 60_000);
  await world.db.updateTable('repository').set({ checked_at: longAgo }).where('id', '=', id).execute();
  await enqueue(world.db, { name: 'repository.check_due', payload: {} });
  const row = await until(
    () => readRow(id),
    ({ head_commit }) => head_commit === head,
  );
  expect(row.status).toBe('ready');
});

describe('where private targets are not allowed', () => {
  let strict: World;
  beforeAll(async () => {
    strict = await startWorld();
  });
  afterAll(() => strict.close());

  test.each([
    'http://127.0.0.1:8080/a/b',
    'https://127.0.0.1/a/b',
    'https://127.1/a/b',
    'https://2130706433/a/b',
    'https://[::1]/a/b',
    'https://[::ffff:10.0.0.1]/a/b',
    'https://10.1.2.3/a/b',
    'https://169.254.169.254/latest/meta-data',
    'https://localhost/a/b',
    'https://git.localhost/a/b',
    'file:///etc',
  ])('%s is refused at once', async (url) => {
    const own = await strict.org();
    const answer = await own.call('POST', '/v1/repositories', { url });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatch(/does not allow/);
  });
});
