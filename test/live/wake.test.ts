import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { bindRepository, canIsolate, createLiveReplica, startLiveWorld } from '../world/live.ts';
import { until, type World } from '../world/world.ts';

describe.skipIf(!canIsolate)('waking a real sandbox', () => {
  let world: World;
  let host: GitHost;

  beforeAll(async () => {
    host = await startGitHost();
    world = await startLiveWorld({ REPLICA_WARM_POOL_SIZE: '1' });
    await host.createRepository('app', { 'README.md': 'hello\n' });
  }, 60_000);
  afterAll(async () => {
    await world?.close();
    await host?.close();
  });

  it.each([
    ['under 10 seconds where its environment has a warm pool', true, 10_000],
    ['at most a minute where it has none', false, 60_000],
  ])(
    'takes %s',
    async (_how, isPooled, limitMs) => {
      const org = await world.org();
      const environment_id = await bindRepository(org, host, 'app');
      const pool = `/v1/environments/${environment_id}`;
      await org.call('PUT', `${pool}/warm-pools`, { enabled: isPooled });
      const isReady = async () =>
        (await org.call('GET', `${pool}/warm-hooks`)).body.warm_pool.ready_count === 1;
      if (isPooled) await until(isReady, { timeoutMs: 45_000 });
      const replica = await createLiveReplica({ world, org }, { environment_id });
      await org.call('POST', `/v1/workspaces/${replica.id}/sleep`);
      await replica.reach('sleeping');
      const askedAt = performance.now();
      expect((await org.call('POST', `/v1/replica/${replica.id}/wake`)).status).toBe(202);
      await replica.reach('active');
      expect(performance.now() - askedAt).toBeLessThan(limitMs);
      expect((await replica.run('cat ~/workspaces/app/README.md')).output).toBe('hello\n');
    },
    120_000,
  );
});
