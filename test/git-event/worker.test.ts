import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import type { TaskContext } from '../../src/work/task.ts';
import { recorded } from '../world/github-event.ts';
import type { Taker } from './event-parts.ts';
import { type EventStage, startEventStage } from './stage.ts';

const context: TaskContext = {
  signal: new AbortController().signal,
  attempt: 1,
  maxAttempts: 25,
  log: pino({ level: 'silent' }),
};

let stage: EventStage;
let organizationId: string;
let repositoryId: string;
beforeAll(async () => {
  stage = await startEventStage();
});
beforeEach(async () => {
  organizationId = await stage.organization({ host: 'git.example.com', secret: 'known-to-both' });
  repositoryId = await stage.repository(organizationId, `https://git.example.com/acme/${newId()}`);
});
afterAll(() => stage?.close());

async function keep(deliveryId: string, more: { name?: string; at?: Date } = {}): Promise<void> {
  const row = { id: newId(), organization_id: organizationId, repository_id: repositoryId, kind: 'github' };
  const { name = 'pull_request', at = new Date() } = more;
  const payload = JSON.stringify(recorded('pull_request', 'opened'));
  await stage.db
    .insertInto('git_event')
    .values({ ...row, delivery_id: deliveryId, name, payload, at })
    .execute();
}

async function kept(): Promise<string[]> {
  const query = stage.db.selectFrom('git_event').select('delivery_id').orderBy('id');
  return (await query.where('repository_id', '=', repositoryId).execute()).map((row) => row.delivery_id);
}

async function jobs(): Promise<unknown[]> {
  const { rows } = await stage.pool.query(
    `select task_identifier as name, key from graphile_worker.jobs where key = $1`,
    [`git_event.take:${repositoryId}`],
  );
  return rows;
}

function take(...takers: Taker[]): Promise<void> {
  const task = stage.tasksFor(takers).find(({ name }) => name === 'git_event.take');
  return task?.run({ repository_id: repositoryId }, context) ?? Promise.reject(new Error('no such task'));
}

describe('events that are kept', () => {
  test('are handed on in their order, to everybody who wants to know, and then gone', async () => {
    for (const id of ['a', 'b', 'c']) await keep(id);
    const told: string[] = [];
    const listener =
      (who: string): Taker =>
      async (_tx, { deliveryId, event, ...taken }) => {
        expect(taken).toMatchObject({ organizationId, repositoryId });
        told.push(`${who} ${deliveryId} ${event.triggers}`);
      };
    await take(listener('one'), listener('two'));
    const opened = 'pull_request.opened';
    expect(told).toEqual(['a', 'b', 'c'].flatMap((id) => [`one ${id} ${opened}`, `two ${id} ${opened}`]));
    expect(await kept()).toEqual([]);
  });

  test('do not wait for one that fails, which is tried again', async () => {
    for (const id of ['a', 'b', 'c']) await keep(id);
    const told: string[] = [];
    const failing: Taker = async (_tx, { deliveryId }) => {
      if (deliveryId === 'b') throw new Error('not now');
      told.push(deliveryId);
    };
    await expect(take(failing)).rejects.toThrow('not now');
    expect([told, await kept()]).toEqual([['a', 'c'], ['b']]);
    await take(async (_tx, { deliveryId }) => void told.push(deliveryId));
    expect([told, await kept()]).toEqual([['a', 'c', 'b'], []]);
  });

  test('leave nothing behind when somebody fails who is told after others', async () => {
    await keep('a');
    const name = newId();
    const writing: Taker = async (tx) => {
      await tx.insertInto('organization').values({ id: name, name, slug: name }).execute();
    };
    const failing: Taker = () => Promise.reject(new Error('not now'));
    await expect(take(writing, failing)).rejects.toThrow('not now');
    const found = await stage.db.selectFrom('organization').where('id', '=', name).select('id').execute();
    expect([found, await kept()]).toEqual([[], ['a']]);
  });

  test('are handed on once when two processes take them', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `d${index}`);
    for (const id of ids) await keep(id);
    const told: string[] = [];
    const listener: Taker = async (_tx, { deliveryId }) => void told.push(deliveryId);
    await Promise.all([take(listener), take(listener), take(listener)]);
    expect(told.sort()).toEqual(ids.sort());
  });

  test('leave room for those of other repositories when they are many, and none is left behind', async () => {
    const ids = Array.from({ length: 130 }, (_, index) => `d${index}`);
    for (const id of ids) await keep(id);
    const told: string[] = [];
    const listener: Taker = async (_tx, { deliveryId }) => {
      if (deliveryId === 'd0' && told.length < 100) throw new Error('not yet');
      told.push(deliveryId);
    };
    await take(listener);
    expect(told).toEqual(ids.slice(1, 101));
    expect(await jobs()).toHaveLength(1);
    await take(listener);
    expect(told).toEqual([...ids.slice(1, 101), 'd0', ...ids.slice(101)]);
    expect(await kept()).toEqual([]);
  });

  test('are given up when they fail for a day', async () => {
    await keep('old', { at: new Date(Date.now() - 25 * 3_600_000) });
    await take(() => Promise.reject(new Error('never')));
    expect(await kept()).toEqual([]);
  });

  test('are dropped when they mean nothing any more', async () => {
    await keep('a', { name: 'star' });
    await take(() => Promise.reject(new Error('nobody is told')));
    expect(await kept()).toEqual([]);
  });

  test('are found again when their job is lost', async () => {
    await keep('a', { at: new Date(Date.now() - 3_600_000) });
    const sweep = stage.tasksFor([]).find(({ name }) => name === 'git_event.sweep');
    await sweep?.run({}, context);
    expect(await jobs()).toEqual([{ name: 'git_event.take', key: `git_event.take:${repositoryId}` }]);
  });
});
