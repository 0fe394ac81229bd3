import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { transact } from '../../src/db/transact.ts';
import { createHookRunService } from '../../src/hook-run/service.ts';
import { newId } from '../../src/lib/ids.ts';
import { workspaceTopic } from '../../src/warm-pool/workspaces.ts';
import { createSignals, type Signals } from '../../src/work/signal.ts';
import { type ApiAnswer, type Organization, startWorld, type World } from '../world/world.ts';
import { makePoolAtRest, type PoolAtRest } from './warm-pool-at-rest.ts';

let world: World;
let signals: Signals;
let org: Organization;
let pool: PoolAtRest;
beforeAll(async () => {
  world = await startWorld({ environment: { REPLICA_WARM_POOL_SIZE: '20' } });
  signals = createSignals({ url: world.databaseUrl, log: pino({ level: 'silent' }) });
  await signals.start();
});
beforeEach(async () => {
  org = await world.org();
  pool = await makePoolAtRest(world, org, { generation: 3 });
});
afterAll(async () => {
  await signals?.stop();
  await world?.close();
});

const refusal = ({ status, headers }: ApiAnswer) => [status, headers.get('x-service-error-code')];
const began = Date.UTC(2026, 6, 1);

const workspace = (status = 'warming') => pool.add(status, { at: new Date(began) });

/** Makes changes as another process does, which tells this one afterwards. */
async function change(id: string, status: string | null, report: () => Promise<unknown> = async () => {}) {
  await transact(world.db, async (tx) => {
    await report();
    if (status) {
      const message = status === 'failed' ? 'The hook ended with exit code 1.' : null;
      await tx
        .updateTable('warm_pool_workspace')
        .set({ status, error_message: message })
        .where('id', '=', id)
        .execute();
    }
  });
  signals.touch(workspaceTopic(id));
}

/** The warm hooks of a workspace, two of them. */
async function hooksOf(warmWorkspaceId: string) {
  const runs = createHookRunService({ now: () => new Date() });
  const sandboxId = newId();
  const hook = {
    phase: 'warm',
    repositoryName: null,
    repository: null,
    timeoutMs: 1,
    separate: false,
  } as const;
  const planned = await runs.plan(
    world.db,
    { organizationId: org.id, sandboxId, warmWorkspaceId },
    {
      id: newId(),
      hooks: [
        { ...hook, type: 'global', name: 'global', commands: ['one'] },
        { ...hook, type: 'environment', name: 'environment', commands: ['two'] },
      ],
    },
  );
  return (index: number, text: string) => () =>
    runs.report(world.db, sandboxId, {
      type: 'hook.output',
      seq: 1,
      at: new Date().toISOString(),
      payload: { runId: planned[index]?.runId ?? '', text },
    });
}

describe('the workspaces of a warm pool', () => {
  test('are listed, the newest 10 of them', async () => {
    const ids = [];
    for (let n = 0; n < 12; n += 1)
      ids.push(await pool.add('expired', { at: new Date(began + n * 1_000), message: 'Old.' }));
    const { status, body } = await org.call('GET', `/v1/warm-pools/${pool.id}/workspaces`);
    expect(status).toBe(200);
    expect(body.workspaces.map(({ id }: { id: string }) => id)).toEqual(ids.toReversed().slice(0, 10));
    expect(body.workspaces[0]).toEqual({
      id: ids[11],
      organization_id: org.id,
      warm_pool_config_id: pool.id,
      sandbox_id: null,
      status: 'expired',
      generation: 3,
      error_message: 'Old.',
      created_at: new Date(began + 11_000).toISOString(),
    });
  });

  test('are of nobody else', async () => {
    const id = await workspace('ready');
    const other = await world.org();
    for (const path of [`/v1/warm-pools/${pool.id}/workspaces`, `/v1/warm-pool-workspaces/${id}/stream`]) {
      expect(refusal(await other.call('GET', path))).toEqual([404, 'not_found']);
      expect(refusal(await org.call('GET', path.replace(/[0-9a-f-]{36}/, newId())))).toEqual([
        404,
        'not_found',
      ]);
      expect(refusal(await org.call('GET', path.replace(/[0-9a-f-]{36}/, 'nothing')))).toEqual([
        404,
        'not_found',
      ]);
    }
  });
});

describe('the stream of a warm workspace', () => {
  const open = (id: string) => org.stream('GET', `/v1/warm-pool-workspaces/${id}/stream`);

  test('tells what its hooks write, each change of status, and ends when it is ready', async () => {
    const id = await workspace();
    const write = await hooksOf(id);
    await change(id, null, write(0, 'before '));
    await using stream = await open(id);
    const next = async () => {
      const { event, data } = await stream.event();
      return [event, data];
    };
    expect(await next()).toEqual(['status', { status: 'warming' }]);
    expect(await next()).toEqual(['output', { output: 'before ' }]);
    await change(id, null, write(0, 'one'));
    expect(await next()).toEqual(['output', { output: 'one' }]);
    // The last words come with the change of status, and are told before it.
    await change(id, 'snapshotting', write(1, 'two'));
    expect(await next()).toEqual(['output', { output: 'two' }]);
    expect(await next()).toEqual(['status', { status: 'snapshotting' }]);
    await change(id, 'ready', write(1, 'too late'));
    expect(await next()).toEqual(['status', { status: 'ready' }]);
    expect(await next()).toEqual(['complete', { status: 'ready', message: null }]);
    expect((await stream.next()).done).toBe(true);
  });

  test('ends with an error when it has failed', async () => {
    const id = await workspace();
    const write = await hooksOf(id);
    await using stream = await open(id);
    await stream.event('status');
    await change(id, 'failed', write(0, 'no such file'));
    expect((await stream.event('output')).data).toEqual({ output: 'no such file' });
    expect((await stream.event('error')).data).toEqual({
      status: 'failed',
      message: 'The hook ended with exit code 1.',
    });
    expect((await stream.next()).done).toBe(true);
  });

  test.each([
    ['ready', 'complete'],
    ['assigned', 'complete'],
    ['expired', 'complete'],
    ['failed', 'error'],
  ])('of one that is %s says so and ends, without output', async (status, last) => {
    const id = await workspace(status);
    const write = await hooksOf(id);
    await change(id, null, write(0, 'long ago'));
    const names = [];
    await using stream = await open(id);
    for await (const frame of stream) if ('event' in frame) names.push(frame.event);
    expect(names).toEqual(['status', last]);
  });

  test('gives all output, also when there is much of it', async () => {
    const id = await workspace();
    const write = await hooksOf(id);
    for (let n = 0; n < 35; n += 1) await write(n < 20 ? 0 : 1, `${n} `)();
    await using stream = await open(id);
    let text = '';
    while (!text.endsWith('34 ')) text += (await stream.event('output')).data.output;
    expect(text).toBe(Array.from({ length: 35 }, (_, n) => `${n} `).join(''));
  });

  test('ends when everything of it is gone', async () => {
    const id = await workspace();
    await using stream = await open(id);
    await stream.event('status');
    await world.db.deleteFrom('warm_pool_workspace').where('id', '=', id).execute();
    await change(id, null);
    expect((await stream.event('complete')).data).toEqual({
      status: 'expired',
      message: 'The workspace is gone.',
    });
  });
});
