import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { bindRepository, canIsolate, startLiveWorld } from '../world/live.ts';
import { type Organization, until, type World } from '../world/world.ts';

describe.skipIf(!canIsolate)('trying hooks in real sandboxes', () => {
  let world: World;
  let org: Organization;
  let host: GitHost;
  let at: string;

  beforeAll(async () => {
    host = await startGitHost();
    world = await startLiveWorld();
    org = await world.org();
    await host.createRepository('app', { 'README.md': 'hello\n' });
    at = `/v1/environments/${await bindRepository(org, host, 'app')}`;
    await org.call('POST', `${at}/variables`, { key: 'COLOR', value: 'blue' });
  }, 60_000);
  afterAll(async () => {
    await world?.close();
    await host?.close();
  });

  const untilNoSandbox = () =>
    until(async () => (await world.db.selectFrom('sandbox').select('id').execute()).length === 0, {
      timeoutMs: 20_000,
    });

  it('answers with exit code and output, saves nothing, and leaves nothing', async () => {
    const tried = await org.call('POST', `${at}/start-hooks/test`, {
      content: 'pwd; cat README.md; echo $COLOR; echo bad >&2; exit 3',
    });
    expect(tried.status).toBe(200);
    expect(tried.body.test).toEqual({
      exit_code: 3,
      output: '/home/replica/workspaces/app\nhello\nblue\nbad\n',
      timed_out: false,
    });
    expect((await org.call('GET', `${at}/start-hooks`)).body.start_hook).toBeNull();
    await untilNoSandbox();
  });

  it('saves a warm hook always, or only when it succeeds', async () => {
    const always = await org.call('POST', `${at}/warm-hooks/save-test`, { content: 'echo a; exit 1' });
    expect(always.body).toMatchObject({ warm_hook: { content: 'echo a; exit 1' }, test: { exit_code: 1 } });
    const failing = await org.call('POST', `${at}/warm-hooks/save-test`, {
      content: 'exit 1',
      persist: 'on_success',
    });
    expect(failing.body.warm_hook.content).toBe('echo a; exit 1');
    const working = await org.call('POST', `${at}/warm-hooks/save-test`, {
      content: 'true',
      persist: 'on_success',
    });
    expect(working.body).toMatchObject({ warm_hook: { content: 'true' }, test: { exit_code: 0 } });
  });

  it('streams progress and output as they come, then how it ended', async () => {
    const stream = await org.stream('POST', `${at}/warm-hooks/save-test/stream`, {
      body: { content: 'echo one; sleep 0.5; echo two', mode: 'test_only' },
    });
    const seen: { event: string; data: Record<string, unknown> }[] = [];
    for await (const frame of stream) seen.push(frame as (typeof seen)[number]);
    const events = seen.map(({ event }) => event);
    expect(events.at(0)).toBe('progress');
    expect(events.at(-1)).toBe('complete');
    const output = seen.filter(({ event }) => event === 'output').map(({ data }) => data.output);
    expect(output.length).toBeGreaterThan(1);
    expect(output.join('')).toBe('one\ntwo\n');
    expect(seen.at(-1)?.data).toEqual({ exit_code: 0, timed_out: false });
  });

  it('stops when the caller leaves', async () => {
    const stream = await org.stream('POST', `${at}/start-hooks/test/stream`, {
      body: { content: 'echo begun; sleep 600' },
    });
    await stream.event('output');
    await stream.close();
    await untilNoSandbox();
    const tests = await world.db
      .selectFrom('hook_test')
      .select('status')
      .where('status', '=', 'cancelled')
      .execute();
    expect(tests.length).toBeGreaterThan(0);
  });

  it('shows at most 100,000 characters of a long output', async () => {
    const tried = await org.call('POST', `${at}/start-hooks/test`, { content: 'yes é | head -c 600000' });
    expect([...tried.body.test.output]).toHaveLength(100_000);
  });

  it.each(['', '   '])('refuses empty content %j', async (content) => {
    expect((await org.call('POST', `${at}/start-hooks/test`, { content })).status).toBe(400);
  });
});
