import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import type { FakeDriver } from '../../src/runtime/fake/driver.ts';
import { limitsOf } from '../../src/runtime/size.ts';
import { type FakeWorld, startFakeWorld } from '../world/fake-world.ts';
import { type Organization, until, type World } from '../world/world.ts';

const AT_ONCE = { 'x-service-api-version': '2026-05-17' };
const PIXEL = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
const roomy = { cpus: 64, memoryMiB: 262_144 };

let world: World;
let driver: FakeDriver;
let org: Organization;
let environmentId: string;
/** What sandboxes were made with, by their ids. */
let specs: FakeWorld['specs'];

beforeAll(async () => {
  ({ world, driver, specs } = await startFakeWorld({ environment: { REPLICA_SANDBOX_SIZE: 'large' } }));
});
beforeEach(async () => {
  org = await world.org();
  environmentId = await makeEnvironment({});
});
afterAll(() => world.close());

async function makeEnvironment(binding: object): Promise<string> {
  return (await org.call('POST', '/v1/environments', { name: newId(), ...binding })).body.environment.id;
}

const send = (more: object, headers: Record<string, string> = AT_ONCE) =>
  org.call(
    'POST',
    '/v1/replica',
    { name: 'one', message: 'hello', environment_id: environmentId, ...more },
    headers,
  );

async function create(more: object = {}, headers: Record<string, string> = AT_ONCE) {
  const made = await send(more, headers);
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body.replica;
}

const read = async (id: string) => (await org.call('GET', `/v1/replica/${id}?wake=false`)).body.replica;

async function firstMessage(replicaId: string) {
  const row = world.db.selectFrom('message').select(['text', 'options']).where('replica_id', '=', replicaId);
  return row.executeTakeFirstOrThrow();
}

/** Repositories that were read before, so that nobody asks for them. */
async function connectRepositories(count: number): Promise<{ id: string; name: string; url: string }[]> {
  const at = new Date();
  const rows = Array.from({ length: count }, () => {
    const id = newId();
    return { id, name: `app-${id}`, url: `https://git.example.com/${id}` };
  });
  for (const row of rows) {
    const common = { organization_id: org.id, created_at: at, updated_at: at };
    await world.db
      .insertInto('repository')
      .values({ ...row, ...common, url_key: row.url, status: 'ready', default_branch: 'main' })
      .execute();
  }
  return rows;
}

describe('the environment of a new replica', () => {
  test('is the named one, whose bound repository the replica has', async () => {
    const [repository] = await connectRepositories(1);
    environmentId = await makeEnvironment({ repository_id: repository?.id });
    const made = await create();
    expect(made.repositories).toEqual([repository]);
    expect(await read(made.id)).toMatchObject({
      environment_id: environmentId,
      repository_statuses: [{ repository: repository?.name, default_branch: 'main' }],
    });
    const listed = await org.call('GET', '/v1/replica');
    expect(listed.body.replicas).toMatchObject([{ id: made.id, repositories: [repository] }]);
  });

  test('is the first one that is bound to the named set of repositories', async () => {
    const repositories = await connectRepositories(2);
    const repository_ids = repositories.map(({ id }) => id);
    const set = await org.call('POST', '/v1/repository-sets', { name: 'both', repository_ids });
    const repository_set_id = set.body.repository_set.id;
    const first = await makeEnvironment({ repository_set_id });
    await makeEnvironment({ repository_set_id });
    const made = await create({ environment_id: undefined, repository_set_id });
    expect(made.repositories).toEqual(repositories);
    expect((await read(made.id)).environment_id).toBe(first);
  });

  test('is the first one that is bound to one of the named repositories', async () => {
    const [unbound, bound] = await connectRepositories(2);
    const first = await makeEnvironment({ repository_id: bound?.id });
    await makeEnvironment({ repository_id: bound?.id });
    const made = await create({ environment_id: undefined, repository_ids: [unbound?.id, bound?.id] });
    expect(made.repositories).toEqual([bound]);
    expect((await read(made.id)).environment_id).toBe(first);
  });

  test('is not found where nothing is bound to what is named', async () => {
    const [unbound] = await connectRepositories(1);
    for (const named of [{ repository_ids: [unbound?.id] }, { repository_set_id: newId() }]) {
      expect((await send({ environment_id: undefined, ...named })).status).toBe(404);
    }
  });
});

describe('the first message of a new replica', () => {
  test('is without its leading words, which count as flags do', async () => {
    const made = await create({
      coding_agent: 'codex',
      message: '/plan /goal ship it',
      fast_mode: true,
      thinking_level: 'max',
      model: 'm',
      images: [PIXEL],
    });
    expect(await firstMessage(made.id)).toEqual({
      text: 'ship it',
      options: {
        plan_mode: true,
        goal_mode: true,
        fast_mode: true,
        thinking_level: 'max',
        model: 'm',
        images: [PIXEL],
      },
    });
    const { chats, coding_agent } = await read(made.id);
    expect(coding_agent).toBe('codex');
    expect(chats).toMatchObject([{ provider: 'codex', lastMessageText: 'ship it' }]);
  });

  test('is for claude unless another agent is named, and becomes a goal of codex only', async () => {
    const made = await create();
    expect(await read(made.id)).toMatchObject({ coding_agent: 'claude', chats: [{ provider: 'claude' }] });
    expect((await firstMessage(made.id)).options).toMatchObject({ plan_mode: false, fast_mode: false });
    expect((await send({ goal_mode: true })).status).toBe(400);
    expect((await send({ goal_mode: true, coding_agent: 'codex' })).status).toBe(201);
  });
});

describe('the settings of a new replica', () => {
  test('are shown as they were given, with fields of the configuration that nobody knows', async () => {
    const config = {
      capabilities: { pr_followups: true, another: 1 },
      preferences: { keep_open_on_pr_merge: true, more: { deep: [null] } },
      team: 'frogs',
    };
    const made = await create({ config, lifecycle_policy: 'delete_after_inactivity', size: 'small' });
    const shown = await read(made.id);
    expect(shown).toMatchObject({ config, lifecycle_policy: 'delete_after_inactivity', size: 'small' });
    expect(await read((await create()).id)).toMatchObject({ lifecycle_policy: 'default', size: null });
  });

  test('cannot claim that a start has failed', async () => {
    const made = await create({ config: { provisioning_error: { message: 'no' } } });
    expect((await read(made.id)).config.provisioning_error).toBeUndefined();
  });

  test.each([
    [{ size: 'small' }, 'small'],
    [{ size: 'large' }, 'large'],
    [{}, 'large'],
  ] as const)('%j give it a sandbox of the size %s where large is the tier', async (more, size) => {
    const made = await create(more, {});
    const { sandbox_id } = await world.db
      .selectFrom('replica')
      .select('sandbox_id')
      .where('id', '=', made.id)
      .executeTakeFirstOrThrow();
    const { diskMiB, processes } = limitsOf(size, roomy).limits;
    expect(specs.get(sandbox_id ?? '')?.limits).toMatchObject({ diskMiB, processes });
  });

  test.each([
    ['no name', { name: undefined }],
    ['an empty name', { name: '' }],
    ['a name with a tab', { name: 'a\tb' }],
    ['no message', { message: undefined }],
    ['a set that is no id', { repository_set_id: 'x' }],
    ['repositories that are no ids', { repository_ids: ['x'] }],
    ['a model that is no text', { model: 7 }],
    ['an image without a source', { images: [{ type: 'image' }] }],
    ['an image of another type', { images: [{ ...PIXEL, type: 'picture' }] }],
    ['another policy', { lifecycle_policy: 'forever' }],
    ['a configuration that is no object', { config: [] }],
    ['a capability that is no boolean', { config: { capabilities: { pr_followups: 'yes' } } }],
    ['a preference that is no boolean', { config: { preferences: { keep_open_on_pr_merge: 1 } } }],
    ['a plan mode that is no boolean', { plan_mode: 'yes' }],
    ['a fast mode that is no boolean', { fast_mode: 1 }],
    ['another thinking level', { thinking_level: 'extreme' }],
    ['a webhook that is no URL', { webhook_url: 'not a url' }],
    ['another size', { size: 'huge' }],
  ])('with %s are refused', async (_what, more) => {
    expect((await send(more)).status).toBe(400);
    expect((await org.call('GET', '/v1/replica')).body.total).toBe(0);
  });
});

describe('the list of replicas', () => {
  test('shows those of a status, of a source, or of a person', async () => {
    const person = await world.person(org, 'member');
    const own = await person.personalKey();
    const [awake, asleep] = [await create({}, {}), await create({}, {})];
    await world.db
      .updateTable('replica')
      .set({ state: 'sleeping', source: 'slack' })
      .where('id', '=', asleep.id)
      .execute();
    const theirs = await own.call('POST', '/v1/replica', {
      name: 'theirs',
      message: 'hello',
      environment_id: environmentId,
    });
    const ids = async (query: string) => {
      const { body } = await org.call('GET', `/v1/replica?${query}`);
      return body.replicas.map(({ id }: { id: string }) => id);
    };
    expect(await ids('status=sleeping')).toEqual([asleep.id]);
    expect(await ids('source=slack')).toEqual([asleep.id]);
    expect(await ids('status=active')).toEqual([theirs.body.replica.id, awake.id]);
    expect(await ids(`user_id=${person.id}`)).toEqual([theirs.body.replica.id]);
    expect(await ids(`user_id=${person.id}&source=slack`)).toEqual([]);
  });
});

test('a replica that cannot be started keeps no sandbox, costs nothing, and is listed until it is deleted', async () => {
  for (let tries = 0; tries < 4; tries++) driver.failNext('create', new Error('the disk is on fire'));
  const { id, status } = await create({}, {});
  expect(status).toBe('error');
  await until(async () => {
    const left = world.db.selectFrom('sandbox').select('id').where('replica_id', '=', id);
    return (await left.execute()).length === 0;
  });
  expect((await org.call('GET', '/v1/usage?group_by=replica')).body.groups).toEqual([]);
  const failed = async () => (await org.call('GET', '/v1/replica?status=error')).body.replicas;
  expect(await failed()).toMatchObject([{ id }]);
  expect((await org.call('DELETE', `/v1/replica/${id}`)).status).toBe(200);
  expect(await failed()).toEqual([]);
});
