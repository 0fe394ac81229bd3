import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CodingAgent } from '../../src/contract/message.ts';
import { newId } from '../../src/lib/ids.ts';
import { createModelLedger } from '../../src/model/ledger.ts';
import { monthOf } from '../../src/model/month.ts';
import { purge } from '../../src/replica/purge.ts';
import { insertReplica } from '../chat/replica-row.ts';
import { type Organization, startWorld, until, type World } from '../world/world.ts';

let world: World;
let org: Organization;
beforeAll(async () => {
  world = await startWorld();
});
beforeEach(async () => {
  org = await world.org();
});
afterAll(() => world?.close());

const prices = new Map([['m', { input: 2, output: 10, cacheRead: 0.5, cacheWrite: 4 }]]);
const usage = {
  model: 'm',
  isCounted: true,
  inputTokens: 10,
  outputTokens: 5,
  cacheReadTokens: 4,
  cacheWriteTokens: 1,
  statedUsd: null,
  isOffline: false,
};
/** What one such answer is in the sums. */
const one = {
  requests: 1,
  input_tokens: 10,
  output_tokens: 5,
  cache_read_tokens: 4,
  cache_write_tokens: 1,
  cost_usd: 0.000076,
  has_unpriced: false,
  is_offline: false,
};
const times = (count: number) => ({
  ...Object.fromEntries(Object.entries(one).map(([name, value]) => [name, count * Number(value)])),
  cost_usd: Math.round(count * 76) / 1e6,
  has_unpriced: false,
  is_offline: false,
});
const nothing = times(0);

type Asker = { replicaId: string; chatId?: string; messageId?: string | null; of?: Organization };

async function record(asker: Asker, used: Partial<typeof usage> = {}, at = new Date()): Promise<void> {
  const { replicaId, chatId = newId(), messageId = null, of = org } = asker;
  const ledger = createModelLedger({ prices, newId, now: () => at });
  const who = { organizationId: of.id, replicaId, chatId, messageId, agent: 'claude' as CodingAgent };
  await ledger.record(world.db, who, { ...usage, ...used });
}

const replica = (of = org) => insertReplica(world.db, { organizationId: of.id, state: 'active' });
const read = (id: string) => org.call('GET', `/v1/replica/${id}/model-usage`);

describe('what the models of a replica were asked for', () => {
  test('is nothing at first', async () => {
    expect((await read(await replica())).body).toEqual({
      budget_usd: null,
      total: nothing,
      chats: [],
      messages: [],
    });
  });

  test('is added up by message, by chat and for the whole of it', async () => {
    const replicaId = await replica();
    const [first, second] = [newId(), newId()];
    const [hello, again, other] = [newId(), newId(), newId()];
    const at = (second: number) => new Date(Date.UTC(2026, 6, 1, 0, 0, second));
    await record({ replicaId, chatId: first, messageId: hello }, {}, at(1));
    await record({ replicaId, chatId: first, messageId: hello }, {}, at(2));
    await record({ replicaId, chatId: first, messageId: again }, {}, at(3));
    await record({ replicaId, chatId: second, messageId: other }, {}, at(4));
    await record({ replicaId, chatId: second }, {}, at(5));
    await record({ replicaId: await replica() }, {}, at(6));
    expect((await read(replicaId)).body).toEqual({
      budget_usd: null,
      total: times(5),
      chats: [
        { chat_id: first, ...times(3) },
        { chat_id: second, ...times(2) },
      ],
      messages: [
        { chat_id: second, message_id: null, ...times(1) },
        { chat_id: second, message_id: other, ...times(1) },
        { chat_id: first, message_id: again, ...times(1) },
        { chat_id: first, message_id: hello, ...times(2) },
      ],
    });
  });

  test('says when something of it has no price, and when nobody but a script has answered', async () => {
    const replicaId = await replica();
    const [unpriced, broken, scripted] = [newId(), newId(), newId()];
    await record({ replicaId, chatId: unpriced }, { model: 'unheard-of' });
    await record({ replicaId, chatId: broken }, { isCounted: false, inputTokens: 0 });
    await record({ replicaId, chatId: scripted }, { isOffline: true });
    const { body } = await read(replicaId);
    const flags = body.chats.map(
      ({ chat_id, cost_usd, has_unpriced, is_offline }: typeof one & { chat_id: string }) => ({
        chat_id,
        cost_usd,
        has_unpriced,
        is_offline,
      }),
    );
    expect(flags).toEqual([
      { chat_id: unpriced, cost_usd: 0, has_unpriced: true, is_offline: false },
      { chat_id: broken, cost_usd: 0, has_unpriced: true, is_offline: false },
      { chat_id: scripted, cost_usd: 0, has_unpriced: false, is_offline: true },
    ]);
    expect(body.total).toMatchObject({ requests: 3, has_unpriced: true, is_offline: true });
  });

  test('tells the newest 500 messages apart', async () => {
    const replicaId = await replica();
    await world.pool.query(
      `insert into model_usage (id, organization_id, replica_id, chat_id, message_id, agent, model, input_tokens,
         output_tokens, cache_read_tokens, cache_write_tokens, cost_micros, at)
       select gen_random_uuid(), $1, $2, $2, gen_random_uuid(), 'claude', 'm', 1, 0, 0, 0, 1, now()
         from generate_series(1, 501)`,
      [org.id, replicaId],
    );
    const { body } = await read(replicaId);
    expect([body.messages.length, body.total.requests, body.total.cost_usd]).toEqual([500, 501, 0.000501]);
  });

  test("is nobody else's business", async () => {
    const theirs = await replica(await world.org());
    for (const id of [theirs, newId()]) expect((await read(id)).status).toBe(404);
  });
});

describe('the sums of an organization', () => {
  const month = async () => (await org.call('GET', '/v1/organization/model-budget')).body.model_budget;
  const window = async (start: string, end: string) =>
    (await org.call('GET', `/v1/usage?start=${start}&end=${end}`)).body.total.models;

  test('are those of the window that is asked for, of nobody else', async () => {
    const other = await world.org();
    const [replicaId, theirs] = [await replica(), await replica(other)];
    for (const day of ['2026-06-30T23:59:59.999Z', '2026-07-01', '2026-07-31', '2026-08-01'])
      await record({ replicaId }, {}, new Date(day));
    await record({ replicaId: theirs, of: other }, {}, new Date('2026-07-15'));
    expect(await window('2026-07-01', '2026-08-01')).toEqual(times(2));
    expect(await window('2026-06-01', '2026-09-01')).toEqual(times(4));
    expect(await window('2026-01-01', '2026-02-01')).toEqual(nothing);
  });

  test('of the month begin anew with the month of UTC', async () => {
    const { start, end } = monthOf(new Date());
    const replicaId = await replica();
    await record({ replicaId }, {}, new Date(start.getTime() - 1));
    await record({ replicaId }, {}, start);
    expect(await month()).toEqual({
      monthly_usd: null,
      spent_usd: 0.000076,
      resets_at: end.toISOString(),
    });
  });

  test('keep what a replica has spent when it is deleted and nothing of it is left', async () => {
    const { body: made } = await org.call('POST', '/v1/environments', { name: 'web' });
    const created = await org.call('POST', '/v1/replica', {
      name: 'short-lived',
      message: 'hello',
      environment_id: made.environment.id,
    });
    const replicaId: string = created.body.replica.id;
    const { body: of } = await org.call('GET', `/v1/replica/${replicaId}/chats`);
    const { id: chatId } = of.chats[0];
    const { id: messageId } = await world.db
      .selectFrom('message')
      .select('id')
      .where('replica_id', '=', replicaId)
      .executeTakeFirstOrThrow();
    await record({ replicaId, chatId, messageId });
    await org.call('DELETE', `/v1/replica/${replicaId}`);
    await until(async () => {
      const row = world.db.selectFrom('replica').select('state').where('id', '=', replicaId);
      return (await row.executeTakeFirstOrThrow()).state === 'deleted';
    });
    await purge(world.db, replicaId, new AbortController().signal);
    expect((await read(replicaId)).status).toBe(404);
    expect((await month()).spent_usd).toBe(0.000076);
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    expect(await window(new Date().toISOString().slice(0, 10), tomorrow)).toEqual(times(1));
  });
});
