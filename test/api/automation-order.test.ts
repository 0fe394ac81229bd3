import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../world/world.ts';
import { type AutomationStage, startAutomationStage, yearly } from './automation-stage.ts';

const SLOW = 'SCRIPT:[{"sleepMs":600000}]';

let stage: AutomationStage;
let home: Awaited<ReturnType<AutomationStage['organization']>>;
beforeAll(async () => {
  stage = await startAutomationStage();
});
beforeEach(async () => {
  home = await stage.organization();
});
afterAll(() => stage?.close());

const end = (replicaId: string | null | undefined) => home.org.call('DELETE', `/v1/replica/${replicaId}`);

describe('runs of a schedule', () => {
  test('come one after the other, and fires in between are one', async () => {
    const id = await home.create({ prompt: SLOW });
    await stage.fire(id);
    const [first] = await home.reach(id, ['running']);
    expect(await stage.fire(id)).not.toBeNull();
    expect(await stage.fire(id)).toBeNull();
    await stage.world.drainJobs();
    await home.reach(id, ['running', 'pending']);
    await end(first?.workspace_id);
    await home.reach(id, ['failed', 'running']);
  });

  test('wait each for the one before with catch_up all', async () => {
    const id = await home.create({ triggers: [yearly({ catch_up: 'all' })] });
    const fires = await Promise.all(Array.from({ length: 4 }, () => stage.fire(id)));
    expect(fires).not.toContain(null);
    await home.reach(id, Array(4).fill('completed'));
    const { rows } = await stage.world.pool.query(
      `select count(*)::int as overlaps from automation_execution a join automation_execution b
         on a.automation_id = b.automation_id and a.id < b.id
         join replica on replica.id = b.replica_id
        where a.automation_id = $1 and replica.created_at < a.completed_at and b.completed_at > a.completed_at`,
      [id],
    );
    expect(rows[0].overlaps).toBe(0);
  });

  test('run side by side when that is allowed', async () => {
    const id = await home.create({ prompt: SLOW, triggers: [yearly({ allow_overlap: true })] });
    await Promise.all([stage.fire(id), stage.fire(id), stage.fire(id)]);
    await home.reach(id, ['running', 'running', 'running']);
  });

  test('wait for a run that somebody asked for', async () => {
    const id = await home.create({ prompt: SLOW });
    const { body } = await home.org.call('POST', `/v1/automations/${id}/trigger`, {});
    await stage.fire(id);
    await stage.world.drainJobs();
    await home.reach(id, ['running', 'pending']);
    await end(body.workspace_id);
    await home.reach(id, ['failed', 'running']);
  });

  test('go on after one that went to sleep', async () => {
    const id = await home.create({ prompt: SLOW });
    await stage.fire(id);
    const [first] = await home.reach(id, ['running']);
    await stage.fire(id);
    await home.org.call('POST', `/v1/workspaces/${first?.workspace_id}/sleep`);
    await home.reach(id, ['failed', 'running']);
  });

  test('are never more than one in work, however fires and ends meet', async () => {
    const id = await home.create({ triggers: [yearly({ catch_up: 'all' })] });
    for (let round = 0; round < 5; round++) {
      await Promise.all([stage.fire(id), stage.fire(id)]);
      const open = (await home.list(id)).filter(
        ({ status }) => status === 'creating' || status === 'running',
      );
      expect(open.length).toBeLessThanOrEqual(1);
    }
    await home.reach(id, Array(10).fill('completed'));
  });
});

describe('events of one pull request', () => {
  const event = (id: string, payload: unknown, subject = 'repository#7') =>
    stage.fire(id, { triggerType: 'github', payload, subject });

  test('go to the replica of the first one, in order', async () => {
    const id = await home.create();
    for (const number of [1, 2, 3]) await event(id, { number });
    const executions = await home.reach(id, ['completed', 'completed', 'completed']);
    const replicaIds = new Set(executions.map(({ workspace_id }) => workspace_id));
    expect(replicaIds.size).toBe(1);
    const messages = await home.messagesOf(executions[0]?.workspace_id);
    expect(messages.map((text) => /"number": (\d)/.exec(text)?.[1])).toEqual(['1', '2', '3']);
  });

  test('wake it when it sleeps', async () => {
    const id = await home.create();
    await event(id, { number: 1 });
    const [first] = await home.reach(id, ['completed']);
    await home.org.call('POST', `/v1/workspaces/${first?.workspace_id}/sleep`);
    await until(async () => (await home.replicaRow(first?.workspace_id)).state === 'sleeping');
    await event(id, { number: 2 });
    const [, second] = await home.reach(id, ['completed', 'completed']);
    expect(second?.workspace_id).toBe(first?.workspace_id);
  });

  test('get another replica when it is gone, and others have their own', async () => {
    const id = await home.create();
    await event(id, { number: 1 });
    const [first] = await home.reach(id, ['completed']);
    await end(first?.workspace_id);
    await event(id, { number: 2 });
    await home.reach(id, ['completed', 'completed']);
    await event(id, { number: 3 }, 'repository#8');
    const executions = await home.reach(id, ['completed', 'completed', 'completed']);
    expect(new Set(executions.map(({ workspace_id }) => workspace_id)).size).toBe(3);
  });

  test('are one failure when the replica that they share cannot be started', async () => {
    const id = await home.create();
    for (let i = 0; i < 4; i++) stage.driver.failNext('create', new Error('the disk is on fire'));
    for (const number of [1, 2, 3, 4, 5]) await event(id, { number });
    await home.reach(id, Array(5).fill('failed'));
    const { rows } = await stage.world.pool.query(
      'select failure_count, enabled from automation where id = $1',
      [id],
    );
    expect(rows).toEqual([{ failure_count: 1, enabled: true }]);
  });

  test('never meet in the replica of another automation', async () => {
    const [one, other] = [await home.create(), await home.create()];
    await Promise.all([event(one, { number: 1 }), event(other, { number: 1 })]);
    const [[first], [second]] = [
      await home.reach(one, ['completed']),
      await home.reach(other, ['completed']),
    ];
    expect(first?.workspace_id).not.toBe(second?.workspace_id);
  });
});

describe('an automation that is deleted', () => {
  test('leaves no run behind that would begin, whenever it happens', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => home.create()));
    await Promise.all(
      ids.flatMap((id) => [
        stage.fire(id, { triggerType: 'github', subject: 'repository#7' }).catch(() => null),
        home.org.call('POST', `/v1/automations/${id}/trigger`, {}),
        home.org.call('DELETE', `/v1/automations/${id}`),
      ]),
    );
    await stage.world.drainJobs();
    const left = await stage.world.db
      .selectFrom('automation_execution')
      .select('id')
      .where('automation_id', 'in', ids)
      .execute();
    expect(left).toEqual([]);
  });

  test('leaves its replica at work', async () => {
    const id = await home.create({ prompt: SLOW });
    const { body } = await home.org.call('POST', `/v1/automations/${id}/trigger`, {});
    await home.reach(id, ['running']);
    expect((await home.org.call('DELETE', `/v1/automations/${id}`)).status).toBe(200);
    expect((await home.replicaRow(body.workspace_id)).state).toBe('active');
    await end(body.workspace_id);
  });
});

describe('runs of a personal automation', () => {
  test('have replicas of the owner, which count as automation in the usage', async () => {
    const owner = await stage.world.person(home.org, 'member');
    const id = await home.create({ scope: 'user' }, owner.call);
    await stage.fire(id, { triggerType: 'custom' });
    const [execution] = await home.reach(id, ['completed'], owner.call);
    const row = await home.replicaRow(execution?.workspace_id);
    expect(row).toMatchObject({ person_id: owner.id, source: 'automation' });
    const listed = await home.org.call('GET', `/v1/replica?user_id=${owner.id}&source=automation`);
    expect(listed.body.total).toBe(1);
    const usage = await home.org.call('GET', '/v1/usage?group_by=source');
    expect(usage.body.groups).toEqual([expect.objectContaining({ key: 'automation', minutes: 1 })]);
    const sender = await stage.world.db
      .selectFrom('message')
      .select('sender')
      .where('replica_id', '=', row.id)
      .executeTakeFirstOrThrow();
    expect(sender.sender).toMatchObject({ userId: owner.id });
  });

  test('begin no more when the owner is no member', async () => {
    const owner = await stage.world.person(home.org, 'member');
    const id = await home.create({ scope: 'user' }, owner.call);
    await stage.world.db.deleteFrom('member').where('person_id', '=', owner.id).execute();
    const executionId = await stage.fire(id);
    const ended = await until(async () => {
      const row = await stage.world.db
        .selectFrom('automation_execution')
        .selectAll()
        .where('id', '=', executionId ?? '')
        .executeTakeFirstOrThrow();
      return row.status === 'failed' ? row : null;
    });
    expect(ended).toMatchObject({ replica_id: null, error: expect.stringContaining('owner') });
    const row = await stage.world.db
      .selectFrom('automation')
      .select(['enabled', 'disabled_reason', 'cron_due_at'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(row).toEqual({ enabled: false, disabled_reason: ended?.error, cron_due_at: null });
  });

  test('are over when the owner is removed: nothing of theirs is left to hold the environment', async () => {
    const admin = await stage.world.person(home.org, 'admin');
    const [owner, other] = [
      await stage.world.person(home.org, 'member'),
      await stage.world.person(home.org, 'member'),
    ];
    const environment = await home.org.call('POST', '/v1/environments', { name: 'theirs' });
    const environment_id = environment.body.environment.id;
    await home.create({ scope: 'user', environment_id }, owner.call);
    const theirs = await home.create({ scope: 'user' }, other.call);
    const shared = await home.create({}, owner.call);
    const path = `/v1/environments/${environment_id}`;
    expect((await home.org.call('DELETE', path)).status).toBe(409);
    await admin.call('DELETE', `/v1/organization/members/${owner.id}`);
    expect((await home.org.call('DELETE', path)).status).toBe(200);
    expect(await home.read(theirs, other.call)).toMatchObject({ id: theirs });
    expect(await home.read(shared)).toMatchObject({ id: shared });
  });

  test('never begin when the owner is removed while they make it', async () => {
    const admin = await stage.world.person(home.org, 'admin');
    const owner = await stage.world.person(home.org, 'member');
    const make = async () => {
      const { environmentId: environment_id } = home;
      const body = { name: 'Late', prompt: 'x', triggers: [yearly()], scope: 'user', environment_id };
      return (await owner.call('POST', '/v1/automations', body)).status;
    };
    const [, ...made] = await Promise.all([
      admin.call('DELETE', `/v1/organization/members/${owner.id}`),
      ...Array.from({ length: 8 }, make),
    ]);
    expect([201, 401]).toEqual(expect.arrayContaining([...new Set(made)]));
    const { rows } = await stage.world.pool.query('select id from automation where person_id = $1', [
      owner.id,
    ]);
    expect(rows).toEqual([]);
  });
});
