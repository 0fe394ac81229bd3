import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { bindRepository, canIsolate, createLiveReplica, startLiveWorld } from '../world/live.ts';
import { type Organization, until, type World } from '../world/world.ts';

describe.skipIf(!canIsolate)('a warm pool of real sandboxes', () => {
  let world: World;
  let org: Organization;
  let host: GitHost;
  let environment_id: string;

  beforeAll(async () => {
    host = await startGitHost();
    world = await startLiveWorld({ REPLICA_WARM_POOL_SIZE: '1' });
    org = await world.org();
    await host.createRepository('app', { 'README.md': 'first\n' });
    environment_id = await bindRepository(org, host, 'app');
    await org.call('POST', `/v1/environments/${environment_id}/variables`, { key: 'TOKEN', value: 'one' });
    await org.call('POST', `/v1/environments/${environment_id}/warm-hooks/save`, {
      content: 'echo warming; echo "$TOKEN" > ~/warmed; cat README.md',
    });
    await org.call('POST', `/v1/environments/${environment_id}/start-hooks/save`, {
      content: 'echo "$TOKEN" > ~/started',
    });
  }, 60_000);
  afterAll(async () => {
    await world?.close();
    await host?.close();
  });

  async function pool() {
    const { body } = await org.call('GET', `/v1/environments/${environment_id}/warm-hooks`);
    return body.warm_pool;
  }
  const untilReady = () => until(async () => (await pool()).ready_count === 1, { timeoutMs: 60_000 });

  it('prepares a workspace, and a claim gets it with variables and start hook of now', async () => {
    await untilReady();
    expect(await pool()).toMatchObject({ has_base_snapshot: true, stale_count: 0, error_count: 0 });
    const replica = await createLiveReplica({ world, org }, { environment_id });
    const { body } = await org.call('GET', `/v1/replica/${replica.id}/timeline`);
    expect(body.start.kind).toBe('warm');
    const seen = await replica.run('cat ~/warmed ~/started ~/workspaces/app/README.md');
    expect(seen.output).toBe('one\none\nfirst\n');
    await untilReady();
  });

  it('does not hand out what is old once something better is ready', async () => {
    await untilReady();
    const { generation } = await pool();
    await host.commit('app', { 'README.md': 'second\n' });
    const bound = await org.call('GET', `/v1/environments/${environment_id}`);
    await org.call('POST', `/v1/repositories/${bound.body.environment.repository_id}/check`);
    await until(async () => (await pool()).generation > generation);
    await until(async () => (await pool()).ready_count === 1 && (await pool()).stale_count === 0, {
      timeoutMs: 60_000,
    });
    const replica = await createLiveReplica({ world, org }, { environment_id });
    expect((await replica.run('cat ~/workspaces/app/README.md')).output).toBe('second\n');
  });

  it('says why a warm hook fails, and waits before it tries again', async () => {
    await org.call('POST', `/v1/environments/${environment_id}/warm-hooks/save`, {
      content: 'echo broken; exit 7',
    });
    await until(async () => (await pool()).error_count > 0, { timeoutMs: 60_000 });
    const failed = await pool();
    expect(failed.last_error_message).toMatch(/7/);
    expect(Date.parse(failed.next_retry_at)).toBeGreaterThan(Date.now());
  });
});
