import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canIsolate, createLiveReplica, processesOf } from '../world/live.ts';
import { type Organization, startWorld, until, type World } from '../world/world.ts';

/** Short, and yet long for an engine that is only slow. */
const silenceTimes = {
  lookMs: 50,
  everyMs: 300,
  againMs: 200,
  answerMs: 1_000,
  failures: 3,
  silentMs: 3_000,
  doubtfulMs: 60_000,
};

describe.skipIf(!canIsolate)('an engine that hangs', () => {
  let world: World;
  let org: Organization;
  let environment_id: string;

  beforeAll(async () => {
    world = await startWorld({
      environment: { REPLICA_RUNTIME: 'namespace', REPLICA_WARM_POOL_SIZE: '1' },
      replaced: { silenceTimes },
    });
    org = await world.org();
    const { body } = await org.call('POST', '/v1/environments', { name: 'plain' });
    environment_id = body.environment.id;
  });
  afterAll(() => world?.close());

  it('is ended, and its replica works again and says once that the turn was lost', async () => {
    const replica = await createLiveReplica({ world, org }, { environment_id });
    const other = await createLiveReplica({ world, org }, { environment_id });
    const sent = await org.call('POST', `/v1/replica/${replica.id}/messages`, {
      message: 'SCRIPT:[{"run":"sleep 600"}]',
    });
    const messageId: string = sent.body.message_id;
    const messageOf = () =>
      world.db.selectFrom('message').selectAll().where('id', '=', messageId).executeTakeFirstOrThrow();
    await until(async () => (await messageOf()).started_at);
    const before = await replica.rowOf();

    stopEngine(before.sandbox_id);
    await until(
      async () => {
        const row = await replica.rowOf();
        return row.state === 'active' && row.incarnation > before.incarnation;
      },
      { timeoutMs: 30_000 },
    );
    await until(async () => (await messageOf()).state === 'failed');
    expect((await messageOf()).error).toMatch(/^The workspace stopped while .*\.$/);
    expect((await replica.run('echo alive')).output).toBe('alive\n');
    const said = await world.db
      .selectFrom('replica_event')
      .select('payload')
      .where('replica_id', '=', replica.id)
      .where('type', '=', 'error')
      .execute();
    expect(said).toMatchObject([{ payload: { details: { messageId } } }]);
    // The one beside it was never taken for silent.
    expect((await other.rowOf()).losses).toBe(0);
    expect((await other.run('echo alive')).output).toBe('alive\n');
  }, 60_000);

  it('of a warm workspace makes room for another', async () => {
    const { body } = await org.call('POST', '/v1/environments', { name: 'pooled' });
    const pooled: string = body.environment.id;
    await org.call('POST', `/v1/environments/${pooled}/warm-hooks/save`, { content: 'true' });
    const ready = () =>
      until(
        () =>
          world.db
            .selectFrom('warm_pool_workspace')
            .innerJoin('sandbox', 'sandbox.warm_workspace_id', 'warm_pool_workspace.id')
            .select('sandbox.id')
            .where('sandbox.environment_id', '=', pooled)
            .where('warm_pool_workspace.status', '=', 'ready')
            .where('sandbox.started_at', 'is not', null)
            .executeTakeFirst(),
        { timeoutMs: 40_000 },
      );
    const hanging = (await ready())?.id ?? '';
    stopEngine(hanging);
    await until(async () => (await ready())?.id !== hanging, { timeoutMs: 40_000 });
    await until(() => processesOf(hanging).length === 0, { timeoutMs: 10_000 });
  }, 90_000);
});

function stopEngine(sandboxId: string | null): void {
  const engines = processesOf(sandboxId ?? '').filter((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('engine.mjs'),
  );
  expect(engines).toHaveLength(1);
  for (const pid of engines) process.kill(pid, 'SIGSTOP');
}
