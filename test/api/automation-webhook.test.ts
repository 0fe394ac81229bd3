import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createInboundService } from '../../src/inbound/service.ts';
import { type AutomationStage, startAutomationStage } from './automation-stage.ts';

const LIMIT = 262_144;
/** Calls are only counted here: the run waits for a day without any. */
const waiting = { triggers: [{ type: 'custom' }], debounce_seconds: 86_400 };

let stage: AutomationStage;
let home: Awaited<ReturnType<AutomationStage['organization']>>;
beforeAll(async () => {
  stage = await startAutomationStage();
  home = await stage.organization();
});
afterAll(() => stage?.close());

async function make(more: object = {}): Promise<{ id: string; token: string }> {
  const id = await home.create({ ...waiting, ...more });
  return { id, token: (await home.read(id)).webhook_token };
}

const post = (token: string, body?: string | Uint8Array, headers: Record<string, string> = {}) =>
  stage.world.call('POST', `/v1/automations/webhook/${token}`, body, headers);

/** What waits for an automation: the payload of the last call that counted. */
async function waitingPayload(id: string): Promise<unknown> {
  const row = await stage.world.db
    .selectFrom('automation_debounce')
    .select('trigger_payload')
    .where('automation_id', '=', id)
    .executeTakeFirst();
  return row?.trigger_payload;
}

const sign = (secret: string, body: string | Uint8Array) =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

describe('a call of the address of an automation', () => {
  test('starts a run with its body at the end of the prompt', async () => {
    const { id, token } = await make({ debounce_seconds: null, prompt: 'Look at it.' });
    const answer = await post(token, '{"ticket":7}');
    expect([answer.status, answer.body]).toEqual([202, { accepted: true }]);
    const [run] = await home.reach(id, ['completed']);
    expect(run).toMatchObject({ trigger_type: 'custom', trigger_payload: { ticket: 7 } });
    const [message = ''] = await home.messagesOf(run?.workspace_id);
    expect(message).toMatch(/^Look at it\.\n\n## Trigger Payload\n/);
    expect(message).toContain('"ticket": 7');
  });

  test.each<[string, string | Uint8Array | undefined, string | undefined, unknown]>([
    ['text', 'hello', 'text/plain', { raw: 'hello' }],
    ['a form', 'a=1', 'application/x-www-form-urlencoded', { raw: 'a=1' }],
    ['JSON of no type', '{"a":1}', 'application/octet-stream', { a: 1 }],
    ['JSON of another type', '{"a":1}', 'application/vnd.example+json', { a: 1 }],
    ['JSON that is cut off', '{"a":', 'application/json', { raw: '{"a":' }],
    ['no body', undefined, undefined, {}],
    ['bytes that are no text', new Uint8Array([0x00, 0xff, 0x41]), 'image/png', { raw: '\uFFFD\uFFFDA' }],
    ['a NUL in JSON', String.raw`{"a":"\u0000"}`, 'application/json', { a: '\uFFFD' }],
    ['half a character in JSON', String.raw`{"a":"\ud83d"}`, 'application/json', { a: '\uFFFD' }],
    ['JSON without end', '['.repeat(100_000), 'application/json', { raw: '['.repeat(100_000) }],
  ])('may carry %s', async (_what, body, type, payload) => {
    const { id, token } = await make();
    const { status } = await post(token, body, type ? { 'content-type': type } : {});
    expect(status).toBe(202);
    expect(await waitingPayload(id)).toEqual(payload);
  });

  test('may be as large as the limit and no larger', async () => {
    const { id, token } = await make();
    expect((await post(token, 'a'.repeat(LIMIT))).status).toBe(202);
    expect(((await waitingPayload(id)) as { raw: string }).raw).toHaveLength(LIMIT);
    expect((await post(token, 'b'.repeat(LIMIT + 1))).status).toBe(413);
    expect(((await waitingPayload(id)) as { raw: string }).raw).toMatch(/^a/);
  });

  test('needs no credential and looks at none', async () => {
    const { token } = await make();
    expect((await post(token, '{}', { authorization: 'Bearer nonsense' })).status).toBe(202);
  });
});

describe('a call is refused in one way', () => {
  const refusal = { status: 404, body: { error: 'Automation not found.', details: null } };

  async function refused(token: string, body = '{}', headers = {}) {
    const { status, body: said } = await post(token, body, headers);
    return { status, body: said };
  }

  test.each([['unknown'], ['A'.repeat(43)], ['x'.repeat(500)], ['%00'], ['..%2F..']])(
    'with the token %s',
    async (token) => {
      expect(await refused(token)).toEqual(refusal);
    },
  );

  test('when the automation is switched off, and not when it is on again', async () => {
    const { id, token } = await make();
    await home.org.call('PATCH', `/v1/automations/${id}`, { enabled: false });
    expect(await refused(token)).toEqual(refusal);
    await home.org.call('PATCH', `/v1/automations/${id}`, { enabled: true });
    expect((await post(token, '{}')).status).toBe(202);
  });

  test('when it has no custom trigger any more, or is deleted', async () => {
    const { id, token } = await make();
    const triggers = [{ type: 'cron', config: { schedule: '0 0 1 1 *' } }];
    await home.org.call('PATCH', `/v1/automations/${id}`, { triggers });
    expect(await refused(token)).toEqual(refusal);
    const other = await make();
    await home.org.call('DELETE', `/v1/automations/${other.id}`);
    expect(await refused(other.token)).toEqual(refusal);
  });

  test('when it must be signed and is not, or not with the secret, or not over these bytes', async () => {
    const { id, token } = await make({ webhook_secret: 'hush' });
    expect(await refused(token)).toEqual(refusal);
    for (const signature of [
      sign('other', '{}'),
      sign('hush', '{ }'),
      sign('hush', '{}').slice(0, -1),
      sign('hush', '{}').replace('sha256=', ''),
      'sha256=',
    ]) {
      expect(await refused(token, '{}', { 'x-service-signature': signature })).toEqual(refusal);
    }
    expect(await waitingPayload(id)).toBeUndefined();
    const bytes = new Uint8Array([0xff, 0x00]);
    const signed = await post(token, bytes, { 'x-service-signature': sign('hush', bytes) });
    expect(signed.status).toBe(202);
    await home.org.call('PATCH', `/v1/automations/${id}`, { webhook_secret: null });
    expect((await post(token, '{}')).status).toBe(202);
  });

  test('and leaves nothing behind for its delivery id', async () => {
    const { id, token } = await make({ webhook_secret: 'hush' });
    const headers = { 'x-service-delivery': 'one' };
    expect(await refused(token, '{"a":1}', headers)).toEqual(refusal);
    await post(token, '{"a":1}', { ...headers, 'x-service-signature': sign('hush', '{"a":1}') });
    expect(await waitingPayload(id)).toEqual({ a: 1 });
  });
});

test('a call is put off while a thousand runs wait, and counts when it is sent again', async () => {
  const { id, token } = await make();
  const { db } = stage.world;
  await sql`
    insert into automation_execution
           (id, automation_id, organization_id, trigger_type, cause, status, triggered_at)
    select gen_random_uuid(), id, organization_id, 'custom', 'flood:' || n, 'pending', now()
      from automation, generate_series(1, 1000) as n where id = ${id}`.execute(db);
  const headers = { 'webhook-id': 'late' };
  const late = await post(token, '{"n":1}', headers);
  expect([late.status, late.headers.get('retry-after')]).toEqual([429, '60']);
  expect((await post('unknown', '{}')).status).toBe(404);
  await db
    .deleteFrom('automation_execution')
    .where('automation_id', '=', id)
    .where('cause', '=', 'flood:7')
    .execute();
  expect((await post(token, '{"n":1}', headers)).status).toBe(202);
  expect(await waitingPayload(id)).toEqual({ n: 1 });
});

describe('a delivery that names itself', () => {
  test.each(['x-service-delivery', 'webhook-id', 'idempotency-key'])('by %s counts once', async (header) => {
    const { id, token } = await make();
    for (const [name, body] of [
      ['first', '{"n":1}'],
      ['first', '{"n":2}'],
    ] as const) {
      const { status, body: said } = await post(token, body, { [header]: name });
      expect([status, said]).toEqual([202, { accepted: true }]);
    }
    expect(await waitingPayload(id)).toEqual({ n: 1 });
    await post(token, '{"n":3}', { [header]: 'second' });
    expect(await waitingPayload(id)).toEqual({ n: 3 });
  });

  test('goes by the first of the three headers', async () => {
    const { id, token } = await make();
    await post(token, '{"n":1}', { 'x-service-delivery': 'a', 'webhook-id': 'x' });
    await post(token, '{"n":2}', { 'x-service-delivery': 'b', 'webhook-id': 'x' });
    expect(await waitingPayload(id)).toEqual({ n: 2 });
  });

  test('is known to its own automation only', async () => {
    const [one, other] = [await make(), await make()];
    for (const { token } of [one, other]) await post(token, '{"n":1}', { 'webhook-id': 'same' });
    expect(await waitingPayload(other.id)).toEqual({ n: 1 });
  });

  test('leads to one run when it is sent many times at once', async () => {
    const { id, token } = await make({ debounce_seconds: null });
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => post(token, '{}', { 'webhook-id': 'storm' })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    await home.reach(id, ['completed']);
  });

  test('is forgotten after thirty days', async () => {
    const { id, token } = await make();
    await post(token, '{"n":1}', { 'webhook-id': 'old' });
    const later = (days: number) =>
      createInboundService({ now: () => new Date(Date.now() + days * 86_400_000) });
    await later(29).trim(stage.world.db, new AbortController().signal);
    await post(token, '{"n":2}', { 'webhook-id': 'old' });
    expect(await waitingPayload(id)).toEqual({ n: 1 });
    await later(31).trim(stage.world.db, new AbortController().signal);
    await post(token, '{"n":3}', { 'webhook-id': 'old' });
    expect(await waitingPayload(id)).toEqual({ n: 3 });
  });
});
