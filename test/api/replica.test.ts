import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFakeDriver, type FakeDriver } from '../../src/runtime/fake/driver.ts';
import { type ApiCall, type Organization, startWorld, until, type World } from '../world/world.ts';

const VERSION = { 'x-service-api-version': '2026-05-17' };
const HOUR = 3_600_000;

let world: World;
let driver: FakeDriver;
let org: Organization;
let environmentId: string;
let clockMs = 0;

beforeAll(async () => {
  world = await startWorld({
    environment: { REPLICA_STALL_SECONDS: '3600' },
    replaced: {
      now: () => new Date(Date.now() + clockMs),
      openDriver: async ({ gatewayFolder }) => {
        driver = createFakeDriver({ gatewayFolder });
        return driver;
      },
    },
  });
  org = await world.org();
  environmentId = (await org.call('POST', '/v1/environments', { name: 'plain' })).body.environment.id;
});
afterAll(() => world.close());

const wanted = (more: object = {}) => ({
  name: 'one',
  message: 'hello',
  environment_id: environmentId,
  ...more,
});

async function create(more: object = {}, call: ApiCall = org.call): Promise<string> {
  const made = await call('POST', '/v1/replica', wanted(more));
  expect(made).toMatchObject({ status: 201, body: { replica: { status: 'active' } } });
  return made.body.replica.id;
}

async function stateOf(id: string): Promise<string> {
  const row = await world.db.selectFrom('replica').select('state').where('id', '=', id).executeTakeFirst();
  return row?.state ?? 'absent';
}

const reach = (id: string, state: string) => until(async () => (await stateOf(id)) === state);

async function sandboxOf(id: string): Promise<string> {
  const row = await world.db
    .selectFrom('replica')
    .select('sandbox_id')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return row.sandbox_id ?? '';
}

async function sleepNow(id: string): Promise<void> {
  expect((await org.call('POST', `/v1/workspaces/${id}/sleep`)).status).toBe(200);
  await reach(id, 'sleeping');
}

describe('creating a replica', () => {
  it('answers without a version when it is active, with what the engine is', async () => {
    const made = await org.call('POST', '/v1/replica', wanted());
    expect(made.status).toBe(201);
    expect(made.body.replica).toMatchObject({ status: 'active', source: 'api', engine: { incarnation: 1 } });
  });

  it('answers with the version at once, and becomes active', async () => {
    const made = await org.call('POST', '/v1/replica', wanted(), VERSION);
    expect(made.body.replica).toMatchObject({ status: 'preparing', engine: null });
    await reach(made.body.replica.id, 'active');
  });

  it.each([
    ['another version', wanted(), { 'x-service-api-version': '2020-01-01' }, 400],
    ['no environment', { name: 'a', message: 'b' }, {}, 400],
    ['a name with a space', wanted({ name: 'a b' }), {}, 400],
    ['an empty message', wanted({ message: ' ' }), {}, 400],
    ['an environment that is no id', wanted({ environment_id: 'x' }), {}, 400],
    ['an unknown environment', wanted({ environment_id: crypto.randomUUID() }), {}, 404],
    [
      'an unknown repository',
      { ...wanted(), environment_id: undefined, repository_ids: [crypto.randomUUID()] },
      {},
      404,
    ],
    ['an unknown agent', wanted({ coding_agent: 'gpt' }), {}, 400],
    ['an agent without its credential', wanted({ coding_agent: 'cursor' }), {}, 400],
  ])('refuses %s and makes nothing', async (_what, body, headers, status) => {
    const before = (await org.call('GET', '/v1/replica')).body.total;
    expect((await org.call('POST', '/v1/replica', body, headers as Record<string, string>)).status).toBe(
      status,
    );
    expect((await org.call('GET', '/v1/replica')).body.total).toBe(before);
  });

  it('is one replica when it is asked for twice with one key', async () => {
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const [first, second] = await Promise.all([
      org.call('POST', '/v1/replica', wanted(), headers),
      org.call('POST', '/v1/replica', wanted(), headers),
    ]);
    expect(first.body.replica.id).toBe(second.body.replica.id);
    expect(first.body.replica.status).toBe('active');
  });

  it('tries again when a sandbox cannot be made at first', async () => {
    driver.failNext('create', new Error('no luck'));
    await create();
  });

  it('ends in error with a sentence when it never can', async () => {
    for (let i = 0; i < 4; i++) driver.failNext('create', new Error('the disk is on fire'));
    const made = await org.call('POST', '/v1/replica', wanted());
    expect(made.body.replica.status).toBe('error');
    const read = await org.call('GET', `/v1/replica/${made.body.replica.id}`);
    expect(read.body.replica.config.provisioning_error.message).toContain('could not be started');
    expect(read.body.replica.status).toBe('error');
    for (const [method, path] of [
      ['POST', `/v1/replica/${made.body.replica.id}/wake`],
      ['POST', `/v1/workspaces/${made.body.replica.id}/sleep`],
    ] as const) {
      expect((await org.call(method, path)).status).toBe(409);
    }
    const message = await org.call('POST', `/v1/replica/${made.body.replica.id}/messages`, { message: 'hi' });
    expect(message.status).toBe(409);
    expect((await org.call('DELETE', `/v1/replica/${made.body.replica.id}`)).status).toBe(200);
  });
});

describe('reading replicas', () => {
  it('keeps organizations apart', async () => {
    const id = await create();
    const other = await world.org();
    expect((await other.call('GET', `/v1/replica/${id}`)).status).toBe(404);
    expect((await other.call('DELETE', `/v1/replica/${id}`)).status).toBe(404);
    expect((await other.call('GET', '/v1/replica')).body.total).toBe(0);
  });

  it('lists by status, source and page, newest first', async () => {
    const own = await world.org();
    const environment = (await own.call('POST', '/v1/environments', { name: 'e' })).body.environment.id;
    const ids = [];
    for (let i = 0; i < 3; i++) ids.push(await create({ environment_id: environment }, own.call));
    const page = await own.call('GET', '/v1/replica?limit=2&page=1');
    expect(page.body).toMatchObject({ total: 3, page: 1, limit: 2, total_pages: 2 });
    expect(page.body.replicas.map(({ id }: { id: string }) => id)).toEqual([ids[2], ids[1]]);
    expect((await own.call('GET', '/v1/replica?status=sleeping')).body.total).toBe(0);
    expect((await own.call('GET', '/v1/replica?source=automation')).body.total).toBe(0);
    expect((await own.call('GET', '/v1/replica?status=asleep')).status).toBe(400);
  });

  it('shows the owner of a personal key, and finds by them', async () => {
    const person = await world.person(org, 'member');
    const key = await person.personalKey();
    const id = await create({}, key.call);
    const found = await org.call('GET', `/v1/replica?user_id=${person.id}`);
    expect(found.body.replicas.map((each: { id: string }) => each.id)).toEqual([id]);
  });

  it('tells what was done for it', async () => {
    const id = await create();
    const { body } = await org.call('GET', `/v1/replica/${id}/timeline`);
    expect(body.start).toMatchObject({ kind: 'cold' });
    expect(body.steps.map(({ step }: { step: string }) => step)).toEqual(
      expect.arrayContaining(['sandbox', 'boot request']),
    );
  });
});

describe('sleeping and waking', () => {
  it('wakes on a read, which says so', async () => {
    const id = await create();
    await sleepNow(id);
    const peek = await org.call('GET', `/v1/replica/${id}?wake=false`);
    expect(peek.body.replica).toMatchObject({ status: 'sleeping', waking: false });
    const read = await org.call('GET', `/v1/replica/${id}`);
    expect(read.body.replica).toMatchObject({ status: 'sleeping', waking: true });
    await reach(id, 'active');
  });

  it('answers a wake with 202, and with 200 when it is awake', async () => {
    const id = await create();
    expect(await org.call('POST', `/v1/replica/${id}/wake`)).toMatchObject({
      status: 200,
      body: { waking: false },
    });
    await sleepNow(id);
    expect(await org.call('POST', `/v1/replica/${id}/wake`)).toMatchObject({
      status: 202,
      body: { waking: true },
    });
    await reach(id, 'active');
  });

  it('keeps a message that wakes it, and hands it on', async () => {
    const id = await create();
    await sleepNow(id);
    const strict = await org.call(
      'POST',
      `/v1/replica/${id}/messages`,
      { message: 'hi' },
      { prefer: 'handling=strict' },
    );
    expect(strict.status).toBe(409);
    const sent = await org.call('POST', `/v1/replica/${id}/messages`, { message: 'hi' });
    expect(sent.body).toMatchObject({ status: 'waking' });
    await until(async () => {
      const row = await world.db
        .selectFrom('message')
        .select('state')
        .where('id', '=', sent.body.message_id)
        .executeTakeFirst();
      return row?.state === 'completed';
    });
  });

  it('archives, stays archived when it is read, and wakes when it is asked to', async () => {
    const id = await create();
    expect((await org.call('POST', `/v1/workspaces/${id}/archive`)).status).toBe(200);
    await reach(id, 'archived');
    expect((await org.call('GET', `/v1/replica/${id}`)).body.replica).toMatchObject({
      status: 'archived',
      waking: false,
    });
    expect((await org.call('POST', `/v1/workspaces/${id}/sleep`)).status).toBe(200);
    expect((await org.call('POST', `/v1/replica/${id}/wake`)).status).toBe(202);
    await reach(id, 'active');
  });

  it('comes back by itself when its sandbox dies', async () => {
    const id = await create();
    driver.crash(await sandboxOf(id));
    await until(async () => {
      const row = await world.db
        .selectFrom('replica')
        .select(['state', 'incarnation'])
        .where('id', '=', id)
        .executeTakeFirst();
      return row?.state === 'active' && row.incarnation === 2;
    });
  });

  it('is built anew when its disk is lost', async () => {
    const id = await create();
    await sleepNow(id);
    const lost = await sandboxOf(id);
    driver.lose(lost);
    await org.call('POST', `/v1/replica/${id}/wake`);
    await reach(id, 'active');
    expect(await sandboxOf(id)).not.toBe(lost);
    const { body } = await org.call('GET', `/v1/replica/${id}/timeline`);
    expect(body.start.kind).toBe('rebuilt');
  });
});

describe('deleting', () => {
  it('succeeds again and again, and the replica is gone', async () => {
    const id = await create();
    const sandbox = await sandboxOf(id);
    for (let i = 0; i < 2; i++) {
      expect(await org.call('DELETE', `/v1/replica/${id}`)).toMatchObject({
        status: 200,
        body: { success: true },
      });
    }
    await reach(id, 'deleted');
    expect((await org.call('GET', `/v1/replica/${id}`)).status).toBe(404);
    expect(await driver.observe(sandbox)).toBe('absent');
    expect((await org.call('DELETE', `/v1/replica/${crypto.randomUUID()}`)).status).toBe(404);
  });

  it('ends a provisioning that hangs', async () => {
    driver.delayMs = 60_000;
    try {
      const made = await org.call('POST', '/v1/replica', wanted(), VERSION);
      await until(async () => (await sandboxOf(made.body.replica.id)) !== '');
      driver.delayMs = 0;
      await org.call('DELETE', `/v1/replica/${made.body.replica.id}`);
      await reach(made.body.replica.id, 'deleted');
    } finally {
      driver.delayMs = 0;
    }
  });

  it('takes what sandboxes there are, whatever state it finds', async () => {
    const ids = await Promise.all([create(), create(), create()]);
    await sleepNow(ids[0] ?? '');
    await org.call('POST', `/v1/workspaces/${ids[1]}/archive`);
    await Promise.all(ids.map((id) => org.call('DELETE', `/v1/replica/${id}`)));
    await Promise.all(ids.map((id) => reach(id, 'deleted')));
    const rows = await world.db.selectFrom('sandbox').select('id').where('replica_id', 'in', ids).execute();
    expect(rows).toEqual([]);
  });
});

describe('policies', () => {
  it('put an idle replica to sleep after an hour, and delete it after seven days asleep', async () => {
    const id = await create();
    await until(async () => (await org.call('GET', `/v1/replica/${id}/history`)).body.total >= 2);
    clockMs += HOUR + 1_000;
    await reach(id, 'sleeping');
    clockMs += 6 * 24 * HOUR;
    expect(await stateOf(id)).toBe('sleeping');
    clockMs += 25 * HOUR;
    await reach(id, 'deleted');
  });

  it('delete a replica when its agent is done', async () => {
    const made = await org.call(
      'POST',
      '/v1/replica',
      wanted({ lifecycle_policy: 'delete_when_done' }),
      VERSION,
    );
    await reach(made.body.replica.id, 'deleted');
  });

  it('delete a replica that nobody used', async () => {
    const id = await create({ lifecycle_policy: 'delete_after_inactivity' });
    await until(async () => (await org.call('GET', `/v1/replica/${id}/history`)).body.total >= 2);
    clockMs += HOUR + 1_000;
    await reach(id, 'deleted');
  });
});
