import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { bindRepository, canIsolate, createLiveReplica, startLiveWorld } from '../world/live.ts';
import { loseDisk } from '../world/lost-disk.ts';
import { type Organization, until, type World } from '../world/world.ts';

describe.skipIf(!canIsolate)('a replica in a real sandbox', () => {
  let world: World;
  let org: Organization;
  let host: GitHost;
  let environment_id: string;

  beforeAll(async () => {
    host = await startGitHost();
    world = await startLiveWorld();
    org = await world.org();
    await host.createRepository('app', {
      'README.md': 'hello\n',
      'gone.txt': 'soon\n',
      'replica.json': JSON.stringify({
        startHook: { commands: ['echo from the repository', 'echo "$GREETING" > started.txt'] },
        systemPrompt: 'Be brief.',
      }),
    });
    environment_id = await bindRepository(org, host, 'app');
    const at = `/v1/environments/${environment_id}`;
    await org.call('POST', `${at}/variables`, { key: 'GREETING', value: 'hi there' });
    await org.call('POST', '/v1/environments/global/variables', { key: 'GREETING', value: 'lower' });
    await org.call('POST', '/v1/environments/global/variables', { key: 'EVERYWHERE', value: 'yes' });
    await org.call('POST', `${at}/files`, { name: 'rc', path: '~/.config/tool.rc', content: 'a = 1\n' });
    await org.call('POST', `${at}/start-hooks/save`, { content: 'echo environment; exit 3' });
  }, 60_000);
  afterAll(async () => {
    await world?.close();
    await host?.close();
  });

  const live = (more: object = {}) => createLiveReplica({ world, org }, { environment_id, ...more });

  it('has repository, variables, files and prompt in place, and its hooks have run', async () => {
    const replica = await live();
    expect(replica.status).toBe('active');
    const seen = await replica.run(
      'cd ~/workspaces/app && cat README.md started.txt ~/.config/tool.rc && echo $EVERYWHERE && cat ~/.replica/system-prompt.md && git config remote.origin.url',
    );
    for (const part of ['hello\nhi there\na = 1\nyes\n', 'Be brief.', host.url('app')]) {
      expect(seen.output).toContain(part);
    }
    const read = await org.call('GET', `/v1/replica/${replica.id}?include=environment,diffs`);
    const { environment, repository_statuses } = read.body.replica;
    expect(environment).toMatchObject({
      files_uploaded: ['~/.config/tool.rc'],
      hooks: { repositories: [{ repository_name: 'app', start_hook: { status: 'completed' } }] },
    });
    expect(environment.env_vars_set).toEqual(expect.arrayContaining(['GREETING', 'EVERYWHERE']));
    expect(repository_statuses[0]).toMatchObject({ repository: 'app', start_hooks_completed: true });
    expect(repository_statuses[0].git_diff.full_diff).toContain('started.txt');
  });

  it('pushes to its own repository and to no other', async () => {
    const replica = await live();
    await host.createRepository('other', { a: 'b' });
    const pushed = await replica.run(
      'cd ~/workspaces/app && git checkout -q -b work && echo x > new.txt && git add -A && git commit -q -m work && git push -q origin work 2>&1; echo $?',
    );
    expect(pushed.output).toBe('0\n');
    expect(await host.git('app', ['log', '-1', '--format=%s', 'work'])).toBe('work');
    const refused = await replica.run(`git clone ${host.url('other')} /tmp/other 2>&1; echo $?`);
    expect(refused.output).not.toMatch(/\n0\n$/);
  });

  it('works with a repository on this machine', async () => {
    await host.createRepository('local', { 'README.md': 'local\n' });
    const connected = await org.call('POST', '/v1/repositories', {
      name: 'near',
      url: host.fileUrl('local'),
    });
    const bound = await org.call('POST', '/v1/environments', {
      name: 'near',
      repository_id: connected.body.repository.id,
    });
    const replica = await live({ environment_id: bound.body.environment.id });
    const pushed = await replica.run(
      'cd ~/workspaces/near && cat README.md && git checkout -q -b work && git commit -q --allow-empty -m near && git push -q origin work 2>&1; echo $?',
    );
    expect(pushed.output).toBe('local\n0\n');
    expect(await host.git('local', ['log', '-1', '--format=%s', 'work'])).toBe('near');
  });

  it('keeps its work over sleep and wake, and shows it while it sleeps', async () => {
    const replica = await live();
    await replica.run(
      'cd ~/workspaces/app && echo changed >> README.md && rm gone.txt && echo new > new.txt',
    );
    await org.call('POST', `/v1/workspaces/${replica.id}/sleep`);
    await replica.reach('sleeping');
    const asleep = await org.call('GET', `/v1/replica/${replica.id}?include=diffs&wake=false`);
    const diff: string = asleep.body.replica.repository_statuses[0].git_diff.full_diff;
    for (const part of ['+changed', '-soon', '+new']) expect(diff).toContain(part);
    await org.call('POST', `/v1/replica/${replica.id}/wake`);
    await replica.reach('active');
    expect((await replica.run('cd ~/workspaces/app && cat new.txt && git status --short')).output).toContain(
      'new\n',
    );
  });

  it('is rebuilt with its work when the disk of the sleeping sandbox is gone', async () => {
    const replica = await live();
    await replica.run(
      'cd ~/workspaces/app && git checkout -q -b feature && echo one > committed.txt && git add -A && git commit -q -m one && echo two > loose.txt && rm gone.txt && echo more >> README.md',
    );
    await org.call('POST', `/v1/workspaces/${replica.id}/sleep`);
    await replica.reach('sleeping');
    const lost = (await replica.rowOf()).sandbox_id ?? '';
    await loseDisk(world.folder, lost);
    await org.call('POST', `/v1/replica/${replica.id}/wake`);
    await replica.reach('active');
    expect((await replica.rowOf()).sandbox_id).not.toBe(lost);
    const { output } = await replica.run(
      'cd ~/workspaces/app && git branch --show-current && git log -1 --format=%s && cat committed.txt loose.txt && tail -1 README.md && git status --short | sort',
    );
    expect(output).toContain('feature\none\none\ntwo\nmore\n');
    expect(output).toContain(' D gone.txt');
    expect(output).toContain('?? loose.txt');
  });

  it('comes back when its sandbox is killed, and says that the turn was lost', async () => {
    const replica = await live();
    const sent = await org.call('POST', `/v1/replica/${replica.id}/messages`, {
      message: 'SCRIPT:[{"run":"sleep 600"}]',
    });
    await until(async () => {
      const row = await world.db
        .selectFrom('message')
        .selectAll()
        .where('id', '=', sent.body.message_id)
        .executeTakeFirst();
      return row?.started_at;
    });
    const before = await replica.rowOf();
    await replica.kill();
    await until(
      async () => {
        const row = await replica.rowOf();
        return row.state === 'active' && row.incarnation > before.incarnation;
      },
      { timeoutMs: 30_000 },
    );
    await until(async () => {
      const row = await world.db
        .selectFrom('message')
        .selectAll()
        .where('id', '=', sent.body.message_id)
        .executeTakeFirst();
      return row?.state === 'failed';
    });
    expect((await replica.run('echo alive')).output).toBe('alive\n');
  });

  it('ends in error with a sentence when its branch is missing', async () => {
    await host.createRepository('branchless', { a: 'b' });
    const environment = await bindRepository(org, host, 'branchless');
    await host.git('branchless', ['branch', '-m', 'main', 'other']);
    await host.git('branchless', ['symbolic-ref', 'HEAD', 'refs/heads/other']);
    const made = await live({ environment_id: environment });
    const read = await org.call('GET', `/v1/replica/${made.id}`);
    expect(read.body.replica).toMatchObject({ status: 'error' });
    expect(read.body.replica.config.provisioning_error.message).toMatch(/branch/i);
  });
});
