import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type AutomationStage, startAutomationStage, yearly } from './automation-stage.ts';

let stage: AutomationStage;
let home: Awaited<ReturnType<AutomationStage['organization']>>;
beforeAll(async () => {
  stage = await startAutomationStage();
});
beforeEach(async () => {
  home = await stage.organization();
});
afterAll(() => stage?.close());

const send = (more: object) =>
  home.org.call('POST', '/v1/automations', {
    name: 'Night shift',
    prompt: 'Update.',
    environment_id: home.environmentId,
    triggers: [yearly()],
    ...more,
  });
const on = (type: string, event: string) => ({ type, config: { event } });

describe('an automation', () => {
  test.each([
    [{ debounce_seconds: 0 }],
    [{ debounce_seconds: 86_400 }],
    [{ debounce_seconds: null }],
    [{ scope: 'org' }],
    [{ enabled: false }],
    [{ workspace_lifecycle_policy: 'default' }],
    [{ workspace_lifecycle_policy: 'delete_when_done' }],
    [{ workspace_lifecycle_policy: 'delete_after_inactivity' }],
    [{ workspace_size: 'small' }],
    [{ workspace_size: 'large' }],
    [{ agent_provider: 'claude' }],
    [{ agent_provider: 'codex' }],
    [{ agent_provider: 'cursor' }],
    [{ agent_provider: 'opencode' }],
    [{ thinking_level: 'low' }],
    [{ thinking_level: 'medium' }],
    [{ thinking_level: 'high' }],
    [{ thinking_level: 'max' }],
    [{ triggers: [on('github', 'pull_request.opened'), on('gitlab', 'merge_request.opened')] }],
    [{ triggers: [{ type: 'custom', config: {} }, yearly({ timezone: 'Asia/Tokyo' })] }],
  ])('with %j is kept as it was given', async (more) => {
    const made = await send(more);
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    expect(made.body.automation).toMatchObject(more);
  });

  test.each([
    [{ name: undefined }],
    [{ name: 7 }],
    [{ prompt: undefined }],
    [{ environment_id: undefined }],
    [{ environment_id: 'x' }],
    [{ triggers: undefined }],
    [{ triggers: [{ type: 'slack', config: {} }] }],
    [{ triggers: [{ type: 'cron' }] }],
    [{ triggers: [on('github', 'merge_request.opened')] }],
    [{ triggers: [on('gitlab', 'opened')] }],
    [{ scope: 'team' }],
    [{ debounce_seconds: -1 }],
    [{ debounce_seconds: 86_401 }],
    [{ debounce_seconds: 1.5 }],
    [{ debounce_seconds: '5' }],
    [{ enabled: 'yes' }],
    [{ workspace_lifecycle_policy: 'forever' }],
    [{ workspace_size: 'huge' }],
    [{ agent_provider: 'gpt' }],
    [{ thinking_level: 'extreme' }],
  ])('with %j is refused', async (more) => {
    expect((await send(more)).status).toBe(400);
    expect((await home.org.call('GET', '/v1/automations')).body.total).toBe(0);
  });
});

test('a run tells the agent the prompt with the model, the level and the modes of its automation', async () => {
  const chosen = { model: 'gpt-5', thinking_level: 'max', plan_mode: true, goal_mode: true, fast_mode: true };
  const id = await home.create({ agent_provider: 'codex', ...chosen });
  const { body } = await home.org.call('POST', `/v1/automations/${id}/trigger`, {});
  const first = await stage.world.db
    .selectFrom('message')
    .innerJoin('chat', 'chat.id', 'message.chat_id')
    .select(['text', 'options', 'provider'])
    .where('message.replica_id', '=', body.workspace_id)
    .executeTakeFirstOrThrow();
  expect(first).toMatchObject({ text: 'Update.', options: chosen, provider: 'codex' });
});

test.each([0, null])('with a debounce of %s no event waits for another', async (debounce_seconds) => {
  const made = await send({ debounce_seconds, triggers: [{ type: 'custom' }] });
  const { id, webhook_token } = made.body.automation;
  for (const n of [1, 2]) {
    const called = await stage.world.call('POST', `/v1/automations/webhook/${webhook_token}`, { n });
    expect(called.status).toBe(202);
  }
  const payloads = (await home.list(id)).map(({ trigger_payload }) => trigger_payload);
  expect(payloads).toEqual([{ n: 1 }, { n: 2 }]);
});

test('executions are listed newest first, in pages, and go with their automation', async () => {
  const id = await home.create();
  const begun: (string | null)[] = [];
  for (let n = 1; n <= 3; n++) {
    begun.push((await home.org.call('POST', `/v1/automations/${id}/trigger`, {})).body.execution_id);
    await home.reach(id, Array(n).fill('completed'));
  }
  const page = async (query: string) => {
    const { body } = await home.org.call('GET', `/v1/automations/${id}/executions?${query}`);
    return { ...body, executions: body.executions?.map((one: { id: string }) => one.id) };
  };
  const envelope = { total: 3, limit: 2, totalPages: 2 };
  expect(await page('limit=2')).toEqual({ ...envelope, page: 1, executions: [begun[2], begun[1]] });
  expect(await page('limit=2&page=2')).toEqual({ ...envelope, page: 2, executions: [begun[0]] });
  expect((await home.org.call('GET', `/v1/automations/${id}/executions?limit=101`)).status).toBe(400);
  expect((await home.org.call('DELETE', `/v1/automations/${id}`)).status).toBe(200);
  const left = stage.world.db.selectFrom('automation_execution').select('id').where('automation_id', '=', id);
  expect(await left.execute()).toEqual([]);
});
