import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ApiCall, type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let org: Organization;
let environmentId: string;
/** The Friday before clocks change in Berlin. */
const clock = new Date('2026-03-27T12:00:30Z');
beforeAll(async () => {
  world = await startWorld({ replaced: { now: () => clock } });
});
beforeEach(async () => {
  org = await world.org();
  environmentId = (await org.call('POST', '/v1/environments', { name: 'plain' })).body.environment.id;
});
afterAll(() => world?.close());

const daily = { type: 'cron', config: { schedule: '0 6 * * *', timezone: 'Europe/Berlin' } };
const custom = { type: 'custom', config: {} };
const onPush = { type: 'github', config: { event: 'push' } };

const wanted = (more: object = {}) => ({
  name: 'Nightly',
  prompt: 'Update.',
  environment_id: environmentId,
  triggers: [daily],
  ...more,
});

const send = (more: object = {}, call: ApiCall = org.call) => call('POST', '/v1/automations', wanted(more));

async function create(more: object = {}, call: ApiCall = org.call) {
  const made = await send(more, call);
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body.automation;
}

const patch = (id: string, body: object, call: ApiCall = org.call) =>
  call('PATCH', `/v1/automations/${id}`, body);

async function rowOf(id: string) {
  return world.db.selectFrom('automation').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

describe('an automation', () => {
  test('has every field of its record, with defaults for what was not given', async () => {
    const made = await create();
    expect(made).toEqual({
      id: made.id,
      organization_id: org.id,
      name: 'Nightly',
      description: null,
      triggers: [daily],
      prompt: 'Update.',
      debounce_seconds: null,
      environment_id: environmentId,
      enabled: true,
      disabled_reason: null,
      has_webhook_secret: false,
      webhook_url: null,
      cron_expression: '0 6 * * *',
      cron_timezone: 'Europe/Berlin',
      cron_next_fire_at: '2026-03-28T05:00:00.000Z',
      scope: 'org',
      user_id: null,
      created_by: null,
      workspace_lifecycle_policy: 'default',
      workspace_auto_stop_minutes: null,
      workspace_size: 'small',
      config: {},
      agent_provider: null,
      model: null,
      thinking_level: null,
      plan_mode: false,
      goal_mode: false,
      fast_mode: false,
      created_at: clock.toISOString(),
      updated_at: clock.toISOString(),
    });
    expect((await org.call('GET', `/v1/automations/${made.id}`)).body.automation).toEqual(made);
  });

  test.each([
    ['a schedule of six fields', { triggers: [cron('0 0 6 * * *')] }, 400],
    ['a schedule that never fires', { triggers: [cron('0 0 30 2 *')] }, 400],
    ['an unknown zone', { triggers: [cron('0 6 * * *', 'Mars/Olympus')] }, 400],
    ['two cron triggers', { triggers: [daily, cron('0 7 * * *')] }, 400],
    ['two triggers of one event', { triggers: [onPush, onPush] }, 400],
    ['no trigger', { triggers: [] }, 400],
    ['an empty prompt', { prompt: ' ' }, 400],
    ['a long debounce', { debounce_seconds: 86_401 }, 400],
    ['a model without an agent', { model: 'gpt-5' }, 400],
    ['a model of another provider', { agent_provider: 'claude', model: 'gpt-5' }, 400],
    ['a goal for an agent without goals', { goal_mode: true, agent_provider: 'claude' }, 400],
    ['a secret without a custom trigger', { webhook_secret: 'secret' }, 400],
    ['an unknown environment', { environment_id: crypto.randomUUID() }, 404],
    ['an unknown repository', { triggers: [listening(crypto.randomUUID())] }, 404],
  ])('is refused with %s', async (_what, more, status) => {
    expect((await send(more)).status).toBe(status);
    expect((await org.call('GET', '/v1/automations')).body.total).toBe(0);
  });

  test('may have a model of another provider where the organization has an API of its own', async () => {
    const setting = { api_key: 'key', base_url: 'https://models.example' };
    expect((await org.call('PUT', '/v1/organization/coding-agents/claude', setting)).status).toBe(200);
    await create({ agent_provider: 'claude', model: 'gpt-5' });
  });

  test('listens to repositories of its own organization only', async () => {
    const other = await world.org();
    const url = 'https://git.invalid/app';
    const own = (await org.call('POST', '/v1/repositories', { url })).body.repository.id;
    const foreign = (await other.call('POST', '/v1/repositories', { url })).body.repository.id;
    await create({ triggers: [listening(own)] });
    expect((await send({ triggers: [listening(own, foreign)] })).status).toBe(404);
  });

  test('is gone with its history when it is deleted, and a second time is 404', async () => {
    const { id } = await create();
    expect((await org.call('DELETE', `/v1/automations/${id}`)).body).toEqual({ success: true });
    for (const [method, path] of [
      ['DELETE', ''],
      ['GET', ''],
      ['GET', '/executions'],
      ['POST', '/trigger'],
    ] as const) {
      expect((await org.call(method, `/v1/automations/${id}${path}`)).status).toBe(404);
    }
  });
});

describe('a change', () => {
  test('leaves alone what is not named', async () => {
    const made = await create({ description: 'old', debounce_seconds: 5, thinking_level: 'low' });
    const { body } = await patch(made.id, { description: 'new', workspace_size: 'large' });
    expect(body.automation).toEqual({
      ...made,
      description: 'new',
      workspace_size: 'large',
      updated_at: body.automation.updated_at,
    });
  });

  test.each([
    ['null clears each override', { agent_provider: null, thinking_level: null }, [null, null, null]],
    ['null clears the model alone', { model: null }, ['codex', null, 'high']],
    ['another agent clears the model', { agent_provider: 'claude' }, ['claude', null, 'high']],
    ['the same agent keeps the model', { agent_provider: 'codex' }, ['codex', 'gpt-5', 'high']],
    [
      'another agent brings its own model',
      { agent_provider: 'claude', model: 'claude-opus-4' },
      ['claude', 'claude-opus-4', 'high'],
    ],
  ])('%s', async (_what, body, expected) => {
    const { id } = await create({ agent_provider: 'codex', model: 'gpt-5', thinking_level: 'high' });
    const { automation } = (await patch(id, body)).body;
    expect([automation.agent_provider, automation.model, automation.thinking_level]).toEqual(expected);
  });

  test.each([
    ['a model for no agent', { agent_provider: null, model: 'gpt-5' }],
    ['a model of another provider', { agent_provider: 'claude', model: 'gpt-5' }],
    ['an agent without goals while the goal mode stays', { agent_provider: 'claude' }],
    ['a schedule that is none', { triggers: [cron('every day')] }],
    ['null where null means nothing', { workspace_size: null }],
  ])('is refused with %s, and nothing changes', async (_what, body) => {
    const made = await create({ agent_provider: 'codex', model: 'gpt-5', goal_mode: true });
    expect((await patch(made.id, body)).status).toBe(400);
    expect((await org.call('GET', `/v1/automations/${made.id}`)).body.automation).toEqual(made);
  });

  test('clears the debounce with null', async () => {
    const { id } = await create({ debounce_seconds: 5 });
    expect((await patch(id, { debounce_seconds: null })).body.automation.debounce_seconds).toBeNull();
  });

  test('of the schedule moves the next fire, and without one there is none', async () => {
    const { id } = await create();
    const moved = (await patch(id, { triggers: [cron('15 * * * *', 'UTC')] })).body.automation;
    expect(moved).toMatchObject({
      cron_expression: '15 * * * *',
      cron_timezone: 'UTC',
      cron_next_fire_at: '2026-03-27T12:15:00.000Z',
    });
    const gone = (await patch(id, { triggers: [onPush] })).body.automation;
    expect(gone).toMatchObject({ cron_expression: null, cron_timezone: null, cron_next_fire_at: null });
  });

  test('switches it off and on: it fires never, then next from that time', async () => {
    const { id } = await create();
    await world.db.updateTable('automation').set({ failure_count: 4 }).where('id', '=', id).execute();
    const off = (await patch(id, { enabled: false })).body.automation;
    expect(off).toMatchObject({ enabled: false, cron_next_fire_at: null, cron_expression: '0 6 * * *' });
    const on = (await patch(id, { enabled: true })).body.automation;
    expect(on).toMatchObject({ enabled: true, cron_next_fire_at: '2026-03-28T05:00:00.000Z' });
    expect((await rowOf(id)).failure_count).toBe(0);
  });

  test('of many at once leaves one of them whole', async () => {
    const { id } = await create({ agent_provider: 'codex', model: 'gpt-5' });
    const bodies = [
      { agent_provider: 'claude' },
      { agent_provider: 'codex', model: 'gpt-5' },
      { agent_provider: null },
    ];
    const answers = await Promise.all([...bodies, ...bodies, ...bodies].map((body) => patch(id, body)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const { automation } = (await org.call('GET', `/v1/automations/${id}`)).body;
    expect([null, 'gpt-5']).toContain(automation.model);
    expect(automation.model === null || automation.agent_provider === 'codex').toBe(true);
  });
});

describe('the token of a custom trigger', () => {
  test('is 32 random bytes, found by its hash, and stays while the trigger does', async () => {
    const made = await create({ triggers: [custom], webhook_secret: 'secret' });
    expect(Buffer.from(made.webhook_token, 'base64url')).toHaveLength(32);
    expect(made).toMatchObject({ has_webhook_secret: true });
    const row = await rowOf(made.id);
    expect(row.webhook_token_hash).toEqual(createHash('sha256').update(made.webhook_token).digest());
    expect(row.webhook_token?.includes(made.webhook_token)).toBe(false);
    const kept = (await patch(made.id, { triggers: [custom, daily] })).body.automation;
    expect(kept.webhook_token).toBe(made.webhook_token);
    expect(kept.has_webhook_secret).toBe(true);
  });

  test('goes with the trigger and is another one when it comes back', async () => {
    const made = await create({ triggers: [custom], webhook_secret: 'secret' });
    const without = (await patch(made.id, { triggers: [daily] })).body.automation;
    expect(without).not.toHaveProperty('webhook_token');
    expect(without.has_webhook_secret).toBe(false);
    expect(await rowOf(made.id)).toMatchObject({ webhook_token: null, webhook_token_hash: null });
    const again = (await patch(made.id, { triggers: [custom] })).body.automation;
    expect(again.webhook_token).not.toBe(made.webhook_token);
  });
});

describe('a list', () => {
  test('is in pages, newest first, with the number of pages', async () => {
    const ids = [];
    for (const name of ['a', 'b', 'c']) ids.push((await create({ name })).id);
    const { body } = await org.call('GET', '/v1/automations?limit=2&page=2');
    expect(body).toMatchObject({ total: 3, page: 2, limit: 2, totalPages: 2 });
    expect(body.automations.map(({ id }: { id: string }) => id)).toEqual([ids[0]]);
  });

  test.each([
    ['enabled=true', ['Tidy 100%', 'Review']],
    ['enabled=false', ['Nightly']],
    ['trigger_type=cron', ['Nightly']],
    ['trigger_type=github', ['Review']],
    ['trigger_type=gitlab', []],
    ['trigger_type=custom', ['Tidy 100%']],
    ['search=REVIEW', ['Review']],
    ['search=each+request', ['Review']],
    ['search=100%25', ['Tidy 100%']],
    ['search=_', []],
    ['search=i&enabled=true&trigger_type=github', ['Review']],
  ])('with %s has %j', async (query, names) => {
    await create({ enabled: false });
    await create({ name: 'Review', description: 'Looks at each request', triggers: [onPush] });
    await create({ name: 'Tidy 100%', triggers: [custom] });
    const { body } = await org.call('GET', `/v1/automations?${query}`);
    expect(body.automations.map(({ name }: { name: string }) => name).sort()).toEqual(names.toSorted());
    expect(body.total).toBe(names.length);
  });
});

describe('personal automations', () => {
  test('are there for their owner only', async () => {
    const [owner, other] = [await world.person(org, 'member'), await world.person(org, 'admin')];
    const key = await owner.personalKey();
    const made = await create({ scope: 'user' }, key.call);
    expect(made).toMatchObject({ scope: 'user', user_id: owner.id, created_by: owner.id });
    expect((await owner.call('GET', `/v1/automations/${made.id}`)).status).toBe(200);
    for (const call of [org.call, other.call]) {
      const path = `/v1/automations/${made.id}`;
      const tried = [
        await call('GET', path),
        await call('PATCH', path, { name: 'Mine' }),
        await call('POST', `${path}/trigger`),
        await call('POST', `${path}/trigger?dry_run=true`),
        await call('GET', `${path}/executions`),
        await call('DELETE', path),
      ];
      expect(tried.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404]);
    }
    expect((await rowOf(made.id)).name).toBe('Nightly');
  });

  test('are listed by scope', async () => {
    const [owner, other] = [await world.person(org, 'member'), await world.person(org, 'member')];
    const shared = await create({ name: 'shared' }, owner.call);
    expect(shared).toMatchObject({ scope: 'org', user_id: null, created_by: owner.id });
    await create({ name: 'own', scope: 'user' }, owner.call);
    const names = async (call: ApiCall, scope: string) =>
      (await call('GET', `/v1/automations?scope=${scope}`)).body.automations
        ?.map(({ name }: { name: string }) => name)
        .sort();
    expect(await names(owner.call, 'org')).toEqual(['shared']);
    expect(await names(owner.call, 'user')).toEqual(['own']);
    expect(await names(owner.call, 'all')).toEqual(['own', 'shared']);
    expect(await names(other.call, 'all')).toEqual(['shared']);
    expect(await names(org.call, 'all')).toEqual(['shared']);
    expect((await org.call('GET', '/v1/automations?scope=user')).status).toBe(403);
    expect((await send({ scope: 'user' })).status).toBe(403);
  });

  test('of the organization are managed by every member', async () => {
    const member = await world.person(org, 'member');
    const { id } = await create();
    expect((await patch(id, { name: 'Changed' }, member.call)).body.automation.name).toBe('Changed');
    expect((await member.call('DELETE', `/v1/automations/${id}`)).status).toBe(200);
  });
});

describe('the preview of a schedule', () => {
  test('names the next five fires, across the change to summer time', async () => {
    const query = 'schedule=0+6+*+*+*&timezone=Europe%2FBerlin';
    const { body } = await org.call('GET', `/v1/automations/schedule-preview?${query}`);
    expect(body.fires).toEqual([
      '2026-03-28T05:00:00.000Z',
      '2026-03-29T04:00:00.000Z',
      '2026-03-30T04:00:00.000Z',
      '2026-03-31T04:00:00.000Z',
      '2026-04-01T04:00:00.000Z',
    ]);
  });

  test('refuses a schedule as a creation does', async () => {
    expect((await org.call('GET', '/v1/automations/schedule-preview?schedule=nonsense')).status).toBe(400);
  });
});

function cron(schedule: string, timezone = 'UTC') {
  return { type: 'cron', config: { schedule, timezone } };
}

function listening(...repositoryIds: string[]) {
  return { type: 'github', config: { event: 'push', repository_ids: repositoryIds } };
}
