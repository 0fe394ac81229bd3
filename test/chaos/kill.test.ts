import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServiceFolder } from '../world/service-process.ts';
import { type ApiCall, caller } from '../world/world.ts';

const ROUNDS = 50;
const CLIENTS = 4;
/** In every so many rounds the database server is killed together with the service. */
const DATABASE_EVERY = 5;

let folder: ServiceFolder;
beforeAll(async () => {
  folder = await ServiceFolder.create({ REPLICA_RATE_LIMIT_BURST: '1000000' });
});
afterAll(() => folder.remove());

type Acknowledged = { environmentId: string; id: string; key: string };

test(`${ROUNDS} times kill -9 under writing clients loses no acknowledged row and does nothing twice`, async () => {
  let service = await folder.serve();
  const call = caller(folder.baseUrl, folder.bootstrap().api_key);
  const acknowledged: Acknowledged[] = [];
  const stop = new AbortController();
  const clients = Promise.all(
    Array.from({ length: CLIENTS }, (_, client) =>
      write({ client, call, acknowledged, signal: stop.signal }),
    ),
  );
  const killing = (async () => {
    for (let round = 1; round <= ROUNDS; round++) {
      // The kill comes while writes are under way, at another moment of one each time.
      const before = acknowledged.length;
      while (acknowledged.length < before + 3 && !stop.signal.aborted) await delay(1);
      await delay(Math.random() * 30);
      await service.kill('SIGKILL');
      if (round % DATABASE_EVERY === 0) process.kill(folder.postmasterPid(), 'SIGKILL');
      service = await folder.serve();
    }
  })().finally(() => stop.abort());
  await Promise.all([killing, clients.finally(() => stop.abort())]);

  const stored = await readAll(call, new Set(acknowledged.map(({ environmentId }) => environmentId)));
  expect(acknowledged.length).toBeGreaterThan(ROUNDS * 3);
  expect(acknowledged.filter(({ id, key }) => stored.get(id) !== key)).toEqual([]);
  expect(stored.size).toBe(acknowledged.length);
}, 480_000);

/** Writes variables one after the other; what got no answer is sent again under the same Idempotency-Key. */
async function write(options: {
  client: number;
  call: ApiCall;
  acknowledged: Acknowledged[];
  signal: AbortSignal;
}) {
  const { client, call, acknowledged, signal } = options;
  for (let batch = 0; !signal.aborted; batch++) {
    const made = await persist(call, '/v1/environments', { name: `client-${client}-${batch}` });
    const environmentId = made.environment.id;
    for (let n = 0; n < 400 && !signal.aborted; n++) {
      const key = `K_${n}`;
      const { environment_variable: variable } = await persist(
        call,
        `/v1/environments/${environmentId}/variables`,
        { key, value: 'x' },
      );
      acknowledged.push({ environmentId, id: variable.id, key });
    }
  }
}

async function persist(call: ApiCall, path: string, body: unknown) {
  const headers = { 'idempotency-key': randomUUID() };
  for (;;) {
    const answer = await call('POST', path, body, headers).catch(() => null);
    if (answer?.status === 201) return answer.body;
    // Away or just starting: anything else, above all a 409, would mean that work was done twice.
    if (answer && answer.status !== 503)
      throw new Error(`${path} answered ${answer.status} ${JSON.stringify(answer.body)}`);
    await delay(5);
  }
}

async function readAll(call: ApiCall, environmentIds: Set<string>): Promise<Map<string, string>> {
  const stored = new Map<string, string>();
  for (const environmentId of environmentIds) {
    const { body } = await call('GET', `/v1/environments/${environmentId}/variables`);
    for (const variable of body.environment_variables) stored.set(variable.id, variable.key);
  }
  return stored;
}
