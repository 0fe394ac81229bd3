import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Organization, startWorld, until, type World } from '../world/world.ts';

const MINUTE_MS = 60_000;

/** It stands still unless it is moved. */
let clock = new Date();
let worlds: World[] = [];
let org: Organization;
let environmentId: string;

beforeAll(async () => {
  const environment = { REPLICA_SECRET_KEY: randomBytes(32).toString('base64') };
  const replaced = { now: () => clock };
  const first = await startWorld({ environment, replaced });
  const { databaseUrl } = first;
  worlds = [first];
  worlds.push(await startWorld({ environment, replaced, databaseUrl }));
  worlds.push(await startWorld({ environment, replaced, databaseUrl }));
  org = await first.org();
  environmentId = (await org.call('POST', '/v1/environments', { name: 'plain' })).body.environment.id;
});
afterAll(async () => {
  for (const world of worlds.toReversed()) await world.close();
});

/** Moves the clock of all three services to shortly after that minute. */
function moveTo(minuteMs: number): void {
  clock = new Date(minuteMs + 1_000);
}

async function create(config: object) {
  const { body } = await org.call('POST', '/v1/automations', {
    name: 'Watch',
    prompt: 'Look around.',
    environment_id: environmentId,
    triggers: [{ type: 'cron', config: { schedule: '* * * * *', allow_overlap: true, ...config } }],
  });
  return body.automation;
}

async function causesOf(automationId: string): Promise<string[]> {
  const rows = await worlds[0]?.db
    .selectFrom('automation_execution')
    .select('cause')
    .where('automation_id', '=', automationId)
    .orderBy('id')
    .execute();
  return (rows ?? []).map(({ cause }) => cause);
}

const causeOf = (minuteMs: number) => `cron:${new Date(minuteMs).toISOString()}`;

test('three services on one database begin each fire of a schedule once', async () => {
  const firstMs = Math.ceil(clock.getTime() / MINUTE_MS + 1) * MINUTE_MS;
  moveTo(firstMs - MINUTE_MS);
  const all = await create({ catch_up: 'all' });
  const latest = await create({ catch_up: 'latest' });
  const skip = await create({ catch_up: 'skip' });
  expect(all.cron_next_fire_at).toBe(new Date(firstMs).toISOString());

  moveTo(firstMs);
  await until(async () => (await causesOf(skip.id)).length === 1);
  // Nobody was there for two of these three.
  const lastMs = firstMs + 3 * MINUTE_MS;
  moveTo(lastMs);
  await until(async () => (await causesOf(skip.id)).includes(causeOf(lastMs)));
  await until(async () => (await causesOf(all.id)).length >= 4);
  await until(async () => (await causesOf(latest.id)).length >= 2);

  const minutes = [0, 1, 2, 3].map((count) => causeOf(firstMs + count * MINUTE_MS));
  expect(await causesOf(all.id)).toEqual(minutes);
  expect(await causesOf(latest.id)).toEqual([minutes[0], minutes[3]]);
  expect(await causesOf(skip.id)).toEqual([minutes[0], minutes[3]]);
  const { body } = await org.call('GET', `/v1/automations/${all.id}`);
  expect(body.automation.cron_next_fire_at).toBe(new Date(lastMs + MINUTE_MS).toISOString());
  for (const { id } of [all, latest, skip]) await org.call('DELETE', `/v1/automations/${id}`);
});

test('a run of a schedule is an execution with a replica of its own, and no payload', async () => {
  const automation = await create({});
  moveTo(Date.parse(automation.cron_next_fire_at));
  const path = `/v1/automations/${automation.id}/executions`;
  const execution = await until(async () => {
    const { body } = await org.call('GET', path);
    return body.executions.find(({ status }: { status: string }) => status === 'completed');
  });
  expect(execution).toMatchObject({ trigger_type: 'cron', trigger_payload: null, error: null });
  const { body } = await org.call('GET', `/v1/replica/${execution.workspace_id}?wake=false`);
  expect(body.replica.source).toBe('automation');
  await org.call('DELETE', `/v1/automations/${automation.id}`);
});
