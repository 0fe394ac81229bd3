import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let org: Organization;
let other: Organization;
beforeAll(async () => {
  world = await startWorld();
  org = await world.org();
  other = await world.org();
});
afterAll(() => world.close());

const file = (changes = {}) => ({ name: 'settings', path: '~/settings.json', content: '{}', ...changes });

test('a file is added, listed, read, changed and removed', async () => {
  const files = `/v1/environments/${await makeEnvironment(org)}/files`;
  const made = await org.call('POST', files, file({ path: '/home/replica/b/c', content: 'ü\n' }));
  expect(made.status).toBe(201);
  expect(made.body.environment_file).toEqual({
    id: expect.any(String),
    organization_id: org.id,
    environment_id: files.split('/')[3],
    name: 'settings',
    path: '~/b/c',
    content: 'ü\n',
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  const { id } = made.body.environment_file;
  expect((await org.call('GET', `${files}/${id}`)).body).toEqual(made.body);

  const second = await org.call('POST', files, file({ path: '~/a', content: '' }));
  const list = await org.call('GET', files);
  expect(list.body.environment_files).toEqual([second.body.environment_file, made.body.environment_file]);

  const changed = await org.call('PATCH', `${files}/${id}`, { content: 'new' });
  expect(changed.status).toBe(200);
  expect(changed.body.environment_file).toMatchObject({ name: 'settings', path: '~/b/c', content: 'new' });
  const renamed = await org.call('PATCH', `${files}/${id}`, { name: 'n', path: '/home/replica/b/d' });
  expect(renamed.body.environment_file).toMatchObject({ name: 'n', path: '~/b/d', content: 'new' });

  expect((await org.call('DELETE', `${files}/${id}`)).body).toEqual({ success: true });
  expect((await org.call('GET', `${files}/${id}`)).status).toBe(404);
  expect((await org.call('DELETE', `${files}/${id}`)).status).toBe(404);
});

test('files of the Global environment are reached by its name, and counted', async () => {
  await org.call('POST', '/v1/environments/global/files', file({ path: '~/global' }));
  expect((await org.call('GET', '/v1/environments/global/files')).body.environment_files).toHaveLength(1);
  expect((await org.call('GET', '/v1/environments/global')).body.environment.file_count).toBe(1);
});

test('the content is not readable in the database', async () => {
  const files = `/v1/environments/${await makeEnvironment(org)}/files`;
  const made = await org.call('POST', files, file({ content: 'very secret words' }));
  const row = await world.db
    .selectFrom('environment_file')
    .select('content')
    .where('id', '=', made.body.environment_file.id)
    .executeTakeFirstOrThrow();
  expect(row.content.includes('secret')).toBe(false);
});

test('each change makes the warm pool older, a refused one does not', async () => {
  const environment = await makeEnvironment(org);
  const files = `/v1/environments/${environment}/files`;
  const generation = async () =>
    (await org.call('GET', `/v1/environments/${environment}/warm-hooks`)).body.warm_pool.generation;
  const { id } = (await org.call('POST', files, file())).body.environment_file;
  expect(await generation()).toBe(2);
  await org.call('PATCH', `${files}/${id}`, { content: 'x' });
  expect(await generation()).toBe(3);
  await org.call('POST', files, file());
  await org.call('PATCH', `${files}/${id}`, { path: '/etc/passwd' });
  expect(await generation()).toBe(3);
  await org.call('DELETE', `${files}/${id}`);
  expect(await generation()).toBe(4);
});

describe('a path is taken once', () => {
  test('in either spelling', async () => {
    const files = `/v1/environments/${await makeEnvironment(org)}/files`;
    expect((await org.call('POST', files, file({ path: '~/a' }))).status).toBe(201);
    const again = await org.call('POST', files, file({ path: '/home/replica/a' }));
    expect(again.status).toBe(409);
    expect(again.body.error).toContain('~/a');
    const { id } = (await org.call('POST', files, file({ path: '~/b' }))).body.environment_file;
    expect((await org.call('PATCH', `${files}/${id}`, { path: '~/a' })).status).toBe(409);
    expect((await org.call('PATCH', `${files}/${id}`, { path: '~/b' })).status).toBe(200);
  });

  test('and not as a file and as a folder', async () => {
    const files = `/v1/environments/${await makeEnvironment(org)}/files`;
    await org.call('POST', files, file({ path: '~/a/b' }));
    for (const path of ['~/a', '~/a/b/c']) {
      const answer = await org.call('POST', files, file({ path }));
      expect(answer.status).toBe(409);
      expect(answer.body.error).toContain('would have to be a folder');
    }
    const { id } = (await org.call('POST', files, file({ path: '~/x' }))).body.environment_file;
    expect((await org.call('PATCH', `${files}/${id}`, { path: '~/a' })).status).toBe(409);
    // A file may move below its own old place.
    expect((await org.call('PATCH', `${files}/${id}`, { path: '~/x/y' })).status).toBe(200);
  });

  test('also when many ask at once', async () => {
    const files = `/v1/environments/${await makeEnvironment(org)}/files`;
    const answers = await Promise.all(Array.from({ length: 8 }, () => org.call('POST', files, file())));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
  });

  test('per environment', async () => {
    const [a, b] = [await makeEnvironment(org), await makeEnvironment(org)];
    expect((await org.call('POST', `/v1/environments/${a}/files`, file())).status).toBe(201);
    expect((await org.call('POST', `/v1/environments/${b}/files`, file())).status).toBe(201);
  });
});

describe('the content holds 65,536 bytes and not one more', () => {
  test.each([
    ['ASCII', 'a'.repeat(65_536)],
    ['two bytes each', 'é'.repeat(32_768)],
    ['three bytes each', `${'€'.repeat(21_845)}a`],
    ['four bytes each', '😀'.repeat(16_384)],
  ])('%s', async (_, content) => {
    const files = `/v1/environments/${await makeEnvironment(org)}/files`;
    expect(Buffer.byteLength(content)).toBe(65_536);
    const made = await org.call('POST', files, file({ content }));
    expect(made.status).toBe(201);
    expect(made.body.environment_file.content).toBe(content);
    const refused = await org.call('POST', files, file({ path: '~/b', content: `${content}a` }));
    expect(refused.status).toBe(400);
    expect(refused.body.error).toContain('65,536 bytes');
    const { id } = made.body.environment_file;
    expect((await org.call('PATCH', `${files}/${id}`, { content: `${content}a` })).status).toBe(400);
  });
});

describe('a bad request is refused and stores nothing', () => {
  const wrong: [string, unknown][] = [
    ['no body', {}],
    ['not an object', '[]'],
    ['name missing', { path: '~/a', content: '' }],
    ['path missing', { name: 'a', content: '' }],
    ['content missing', { name: 'a', path: '~/a' }],
    ['name of another type', file({ name: 7 })],
    ['path of another type', file({ path: ['~/a'] })],
    ['content of another type', file({ content: null })],
    ['empty name', file({ name: '' })],
    ['blank name', file({ name: ' \t' })],
    ['long name', file({ name: 'a'.repeat(256) })],
    ['NUL in name', file({ name: 'a\0' })],
    ['NUL in path', file({ path: '~/a\0' })],
    ['NUL in content', file({ content: 'a\0' })],
    ['lone surrogate in content', JSON.stringify(file()).replace('"{}"', '"\\ud800"')],
    ['empty path', file({ path: '' })],
    ['other root', file({ path: '/etc/passwd' })],
    ['relative path', file({ path: 'a' })],
    ['dot dot', file({ path: '~/a/../../../etc/passwd' })],
    ['long path', file({ path: `~/${'a/'.repeat(512)}` })],
    ['long part', file({ path: `~/${'a'.repeat(256)}` })],
    ["the service's folder", file({ path: '~/.replica/engine' })],
  ];
  test.each(wrong)('%s', async (_, body) => {
    const files = `/v1/environments/${await makeEnvironment(org)}/files`;
    const answer = await org.call('POST', files, body);
    expect(answer.status).toBe(400);
    expect((await org.call('GET', files)).body.environment_files).toEqual([]);
  });

  test('a path of 1,024 bytes is taken, a longer one is not', async () => {
    const files = `/v1/environments/${await makeEnvironment(org)}/files`;
    const path = `~/${'a/'.repeat(511)}`.slice(0, 1_023);
    expect((await org.call('POST', files, file({ path: `${path}é` }))).status).toBe(400);
    expect((await org.call('POST', files, file({ path: `${path}a` }))).status).toBe(201);
  });

  test('a change is held to the same rules', async () => {
    const files = `/v1/environments/${await makeEnvironment(org)}/files`;
    const made = (await org.call('POST', files, file())).body;
    const { id } = made.environment_file;
    for (const body of [
      { name: '' },
      { name: null },
      { path: '/a' },
      { path: null },
      { content: 1 },
      { content: 'a\0' },
    ]) {
      expect((await org.call('PATCH', `${files}/${id}`, body)).status).toBe(400);
    }
    expect((await org.call('GET', `${files}/${id}`)).body).toEqual(made);
  });

  test('fields that are not known are ignored, also ones that name another owner', async () => {
    const environment = await makeEnvironment(org);
    const files = `/v1/environments/${environment}/files`;
    const id = newId();
    const sent = file({ id, organization_id: other.id, environmentId: newId(), extra: 1 });
    const made = await org.call('POST', files, sent);
    expect(made.status).toBe(201);
    expect(made.body.environment_file).toMatchObject({
      organization_id: org.id,
      environment_id: environment,
    });
    expect(made.body.environment_file.id).not.toBe(id);
  });
});

test('an environment has at most 200 files', async () => {
  const environment = await makeEnvironment(org);
  const at = new Date();
  const rows = Array.from({ length: 200 }, (_, index) => ({
    id: newId(),
    organization_id: org.id,
    environment_id: environment,
    name: 'a',
    path: `~/${index}`,
    content: Buffer.alloc(0),
    created_at: at,
    updated_at: at,
  }));
  await world.db.insertInto('environment_file').values(rows).execute();
  const answer = await org.call('POST', `/v1/environments/${environment}/files`, file());
  expect(answer.status).toBe(409);
  expect(answer.headers.get('x-service-error-code')).toBe('limit_reached');
});

test('what belongs to another organization, to another environment or to nobody is 404', async () => {
  const [mine, second] = [await makeEnvironment(org), await makeEnvironment(org)];
  const theirs = await makeEnvironment(other);
  const { id } = (await org.call('POST', `/v1/environments/${mine}/files`, file())).body.environment_file;
  const places: [Organization, string][] = [
    [other, `${mine}/files/${id}`],
    [other, `${theirs}/files/${id}`],
    [other, `global/files/${id}`],
    [org, `${second}/files/${id}`],
    [org, `${mine}/files/${newId()}`],
    [org, `${mine}/files/nothing`],
  ];
  for (const [caller, place] of places) {
    expect((await caller.call('GET', `/v1/environments/${place}`)).status).toBe(404);
    expect((await caller.call('PATCH', `/v1/environments/${place}`, { content: 'x' })).status).toBe(404);
    expect((await caller.call('DELETE', `/v1/environments/${place}`)).status).toBe(404);
  }
  expect((await other.call('GET', `/v1/environments/${mine}/files`)).status).toBe(404);
  expect((await other.call('POST', `/v1/environments/${mine}/files`, file())).status).toBe(404);
  expect((await org.call('GET', `/v1/environments/${mine}/files`)).body.environment_files).toHaveLength(1);
  expect((await world.call('GET', `/v1/environments/${mine}/files`)).status).toBe(401);
});

async function makeEnvironment(owner: Organization): Promise<string> {
  const { body } = await owner.call('POST', '/v1/environments', { name: newId() });
  return body.environment.id;
}
