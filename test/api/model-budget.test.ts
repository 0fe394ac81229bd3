import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { monthOf } from '../../src/model/month.ts';
import type { StagedSandbox } from '../gateway/engine-stage.ts';
import { type ModelStage, startModelStage } from '../gateway/model-stage.ts';
import { type ApiCall, until } from '../world/world.ts';

const everything = new AsyncDisposableStack();
let stage: ModelStage;
let call: ApiCall;
beforeAll(async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'prices-'));
  everything.defer(() => rm(folder, { recursive: true, force: true }));
  const prices = path.join(folder, 'prices.json');
  // A dollar for a token.
  writeFileSync(prices, JSON.stringify({ gold: { input: 1_000_000, output: 1_000_000 } }));
  stage = await startModelStage({ REPLICA_MODEL_PRICES: prices });
  everything.defer(() => stage.close());
  call = stage.org.call;
});
afterAll(() => everything.disposeAsync());

const organizationBudget = '/v1/organization/model-budget';

/** Has the agent of a chat ask for an answer that costs so many dollars. */
async function spend(asker: { sandbox: StagedSandbox; chatId: string }, dollars: number) {
  const answer = { model: 'gold-1', usage: { input_tokens: dollars, output_tokens: 0 } };
  stage.provider.behave((response) => void response.writeHead(200).end(JSON.stringify(answer)));
  const before = (await stage.rows(asker.sandbox.replicaId)).length;
  const { status } = await stage.askWhole({ ...asker, agent: 'claude' });
  if (status === 200) await stage.noted(asker.sandbox.replicaId, before + 1);
  return status;
}

/** A replica whose agents run, in a sandbox that is none. */
async function create(config: object = {}): Promise<string> {
  const environment = await call('POST', '/v1/environments', { name: newId() });
  const { status, body } = await call('POST', '/v1/replica', {
    name: 'test',
    message: 'first',
    environment_id: environment.body.environment.id,
    config,
  });
  expect(status).toBe(201);
  return body.replica.id;
}

/** Notes something that was spent in a replica, whoever spent it. */
async function noteSpent(replicaId: string, micros: number, at = new Date()): Promise<void> {
  await stage.world.db
    .insertInto('model_usage')
    .values({
      id: newId(),
      organization_id: stage.org.id,
      replica_id: replicaId,
      chat_id: newId(),
      agent: 'claude',
      model: 'gold',
      input_tokens: '0',
      output_tokens: '0',
      cache_read_tokens: '0',
      cache_write_tokens: '0',
      cost_micros: String(micros),
      at,
    })
    .execute();
}

const budgetOf = async (id: string) => (await call('GET', `/v1/replica/${id}/model-usage`)).body.budget_usd;
const setBudget = (id: string, amount: unknown) =>
  call('PUT', `/v1/replica/${id}/model-budget`, { amount_usd: amount });
const queueOf = async (id: string, chatId: string) =>
  (await call('GET', `/v1/replica/${id}/chats/${chatId}/queue`)).body;
const isWorkedOff = (id: string, messageId: string) =>
  until(async () => {
    const row = stage.world.db.selectFrom('message').select('state').where('id', '=', messageId);
    return (await row.executeTakeFirstOrThrow()).state === 'completed' && id;
  });

describe('the budget of a replica', () => {
  test('can be set, changed and taken away, and at the creation', async () => {
    const id = await create({ model_budget_usd: 0.25, mine: 'kept' });
    expect(await budgetOf(id)).toBe(0.25);
    const { body } = await call('GET', `/v1/replica/${id}`);
    expect(body.replica.config).toEqual({ model_budget_usd: 0.25, mine: 'kept' });
    for (const amount of [0, 0.000001, 12.5, 1_000_000, null]) {
      expect(await setBudget(id, amount)).toMatchObject({ status: 200, body: { budget_usd: amount } });
      expect(await budgetOf(id)).toBe(amount);
    }
    expect(await budgetOf(await create())).toBeNull();
  });

  test.each([-1, -0.01, 1_000_000.01, 0.0000001, '5', true, {}])('is never %j', async (amount) => {
    const environment = await call('POST', '/v1/environments', { name: newId() });
    const body = { name: 'n', message: 'm', environment_id: environment.body.environment.id };
    const made = await call('POST', '/v1/replica', { ...body, config: { model_budget_usd: amount } });
    const { replicaId } = await stage.sandbox();
    expect([made.status, (await setBudget(replicaId, amount)).status]).toEqual([400, 400]);
    expect((await call('PUT', organizationBudget, { monthly_usd: amount })).status).toBe(400);
  });

  test('is one of two that are set at once', async () => {
    const { replicaId } = await stage.sandbox();
    const amounts = [1, 2, 3, 4, 5, 6];
    const answers = await Promise.all(amounts.map((amount) => setBudget(replicaId, amount)));
    expect(answers.map(({ status, body }) => [status, body.budget_usd])).toEqual(
      amounts.map((amount) => [200, amount]),
    );
    expect(amounts).toContain(await budgetOf(replicaId));
  });

  test('ends the turn with a clear event when it is reached, and what is queued stays queued', async () => {
    const sandbox = await stage.sandbox();
    const { replicaId } = sandbox;
    const chatId = await stage.chat(sandbox, 'claude');
    await setBudget(replicaId, 3);
    const send = async (message: string) =>
      (await call('POST', `/v1/replica/${replicaId}/messages`, { chat_id: chatId, message })).body;
    const first = await send('first');
    const second = await send('second');
    await sandbox.report({ type: 'turn.started', payload: { turnId: first.message_id, chatId } });
    expect(await spend({ sandbox, chatId }, 2)).toBe(200);
    // What is being answered when it is reached is paid all the same.
    expect(await spend({ sandbox, chatId }, 2)).toBe(200);
    stage.provider.requests.length = 0;
    const refused = await stage.askWhole({ sandbox, agent: 'claude', chatId, body: 'x'.repeat(1_000_000) });
    expect([refused.status, JSON.parse(refused.body.toString())]).toEqual([
      402,
      {
        type: 'error',
        error: { type: 'billing_error', message: expect.stringContaining('($3.00) is spent') },
      },
    ]);
    expect(stage.provider.requests).toEqual([]);

    const turn = { turnId: first.message_id, chatId, outcome: 'failed', error: 'Nothing left.' };
    await sandbox.report({ type: 'turn.finished', payload: { ...turn, failure: 'budget_reached' } });
    const events = (await sandbox.events()).slice(-3);
    expect(events).toMatchObject([
      { type: 'error', payload: { code: 'budget_reached', message: 'Nothing left.', details: { chatId } } },
      { type: 'chat.turn.completed', payload: { chatId, isComplete: false } },
      { type: 'chat.updated', payload: { chat: { id: chatId, processing: false } } },
    ]);
    const third = await send('third');
    expect(third).toMatchObject({ status: 'queued', position: 1 });
    expect((await sandbox.events()).slice(-2)).toMatchObject([
      { type: 'chat.turn.accepted', payload: { queued: true, position: 1 } },
      { type: 'chat.updated', payload: { chat: { id: chatId, processing: false } } },
    ]);
    const { processing, queue } = await queueOf(replicaId, chatId);
    expect([processing, queue.map(({ id }: { id: string }) => id)]).toEqual([
      false,
      [second.message_id, third.message_id],
    ]);
  });

  test('lets what is queued go on, in order, as soon as it is raised', async () => {
    const id = await create();
    const { body: of } = await call('GET', `/v1/replica/${id}/chats`);
    const { id: chatId } = of.chats[0];
    await noteSpent(id, 5_000_000);
    await setBudget(id, 5);
    const sent = [];
    for (const message of ['one', 'two'])
      sent.push((await call('POST', `/v1/replica/${id}/messages`, { message })).body);
    expect(sent.map(({ status }) => status)).toEqual(['queued', 'queued']);
    expect((await queueOf(id, chatId)).queue).toHaveLength(2);
    await setBudget(id, 5.01);
    for (const { message_id } of sent) await isWorkedOff(id, message_id);
  });
});

describe('the budget of an organization', () => {
  test('can be set, changed and taken away by admins only', async () => {
    const member = await stage.world.person(stage.org, 'member');
    expect((await member.call('PUT', organizationBudget, { monthly_usd: 5 })).status).toBe(403);
    expect((await member.call('DELETE', organizationBudget)).status).toBe(403);
    const amounts = [70, 80, 90, 100];
    const answers = await Promise.all(
      amounts.map((amount) => call('PUT', organizationBudget, { monthly_usd: amount })),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const { body } = await member.call('GET', organizationBudget);
    expect(amounts).toContain(body.model_budget.monthly_usd);
    for (const _ of ['once', 'again'])
      expect((await call('DELETE', organizationBudget)).body).toEqual({ success: true });
    expect((await call('GET', organizationBudget)).body.model_budget.monthly_usd).toBeNull();
  });

  test.each(['raised', 'taken away'])('holds up all replicas until it is %s', async (what) => {
    const { start } = monthOf(new Date());
    const id = await create();
    await noteSpent(id, 900_000_000, new Date(start.getTime() - 1));
    const spent = (await call('GET', organizationBudget)).body.model_budget.spent_usd;
    await call('PUT', organizationBudget, { monthly_usd: spent + 1 });
    const sandbox = await stage.sandbox();
    const chatId = await stage.chat(sandbox, 'claude');
    expect(await spend({ sandbox, chatId }, 1)).toBe(200);
    expect(await spend({ sandbox, chatId }, 1)).toBe(402);
    const { body } = await call('POST', `/v1/replica/${id}/messages`, { message: 'more' });
    expect(body.status).toBe('queued');
    if (what === 'raised') await call('PUT', organizationBudget, { monthly_usd: spent + 2 });
    else await call('DELETE', organizationBudget);
    await isWorkedOff(id, body.message_id);
    expect(await spend({ sandbox, chatId }, 1)).toBe(200);
    await call('DELETE', organizationBudget);
  });
});
