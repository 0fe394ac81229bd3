import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { OperationName } from '../../src/contract/operations.ts';
import { createDatabase } from '../world/database.ts';
import { startWorld } from '../world/world.ts';
import { operationNames, outcome, send, usualCaller } from './call.ts';
import { type DatabaseProxy, startDatabaseProxy } from './database-proxy.ts';
import { exampleOf } from './examples.ts';
import { type Fixture, makeFixture } from './fixture.ts';
import { type Stage, startStage } from './stage.ts';

describe('a database that is away', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let proxy: DatabaseProxy;
  let stage: Stage;
  let fixture: Fixture;
  beforeAll(async () => {
    database = await createDatabase();
    proxy = await startDatabaseProxy(database.url);
    stage = await startStage({}, proxy.url);
    fixture = await makeFixture(stage);
  });
  afterAll(async () => {
    await stage?.close();
    await proxy?.close();
    await database?.drop();
  });

  test('makes every operation answer 503, and none once it is back', async () => {
    const calls = new Map<string, Awaited<ReturnType<typeof exampleOf>>>();
    for (const name of operationNames) {
      calls.set(name, await exampleOf(name, fixture, usualCaller(name)));
    }
    await stage.settle();
    await proxy.cut();
    for (const name of operationNames) {
      const call = calls.get(name) ?? {};
      // What asks somebody else than the database may still be answered, as long as the key is remembered.
      const answer = await vi.waitFor(async () => {
        const tried = await send(fixture.callers[usualCaller(name)], name, call);
        expect(outcome(tried), name).toBe('503 unavailable');
        return tried;
      });
      expect(JSON.stringify(answer.body)).not.toMatch(/ECONN|socket|127\.0\.0\.1|postgres/i);
    }
    expect(outcome(await stage.world.call('GET', '/readyz'))).toBe('503 unavailable');
    expect(outcome(await stage.world.call('GET', '/healthz'))).toBe('200');

    await proxy.mend();
    for (const name of operationNames) {
      const answer = await send(fixture.callers[usualCaller(name)], name, calls.get(name) ?? {});
      expect(answer.status, `${name}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    }
    expect(outcome(await stage.world.call('GET', '/readyz'))).toBe('200');
  });

  test('that goes away in the middle of requests is answered with 503 by each of them', async () => {
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    try {
      await holder.query('begin');
      await holder.query('lock table environment in access exclusive mode');
      const calls: OperationName[] = ['listEnvironments', 'createEnvironment', 'updateEnvironment'];
      const answers = calls.map(async (name) =>
        send(fixture.callers.org_key, name, await exampleOf(name, fixture, 'org_key')),
      );
      const waiting = 'select count(*)::int as count from pg_locks where not granted';
      await vi.waitFor(async () =>
        expect((await holder.query(waiting)).rows[0].count).toBeGreaterThanOrEqual(calls.length),
      );
      await proxy.cut();
      for (const answer of answers) expect(outcome(await answer)).toBe('503 unavailable');
    } finally {
      await holder.end();
      await proxy.mend();
    }
    expect(outcome(await send(fixture.callers.org_key, 'listEnvironments', {}))).toBe('200');
  });
});

describe('a fault of our own', () => {
  test('is answered with 500 and says nothing about the inside', async () => {
    const world = await startWorld();
    try {
      const org = await world.org();
      const { body } = await org.call('POST', '/v1/environments', { name: 'web' });
      await world.pool.query('alter table environment_variable rename to gone');
      const environmentId = body.environment.id as string;
      const variable = { key: 'A', value: 'secret value' };
      const answers = [
        await send(org.call, 'listVariables', { params: { environmentId } }),
        await send(org.call, 'createVariable', { params: { environmentId }, body: variable }),
        await send(org.call, 'createVariable', {
          params: { environmentId },
          body: variable,
          headers: { 'idempotency-key': 'again' },
        }),
        await send(org.call, 'deleteVariable', { params: { environmentId, id: environmentId } }),
      ];
      for (const answer of answers) {
        expect(outcome(answer)).toBe('500 internal_error');
        expect(answer.body.details).toBeNull();
        expect(JSON.stringify(answer.body)).not.toMatch(
          /select|insert|relation|environment_variable|secret|\.ts/i,
        );
      }
      await world.pool.query('alter table gone rename to environment_variable');
      const again = await send(org.call, 'createVariable', {
        params: { environmentId },
        body: variable,
        headers: { 'idempotency-key': 'again' },
      });
      expect(outcome(again)).toBe('201');
    } finally {
      await world.close();
    }
  });
});
