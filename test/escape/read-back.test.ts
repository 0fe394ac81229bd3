import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { bindRepository, type LiveReplica } from '../world/live.ts';
import { until } from '../world/world.ts';
import { type EscapeWorld, obstacle, startEscapeWorld, titled } from './escape-world.ts';

describe.skipIf(obstacle !== undefined)(titled('what is read back from a sandbox', obstacle), () => {
  let stage: EscapeWorld;
  let host: GitHost;
  let environment_id: string;
  /** A folder of the host with a file that a link from inside points to. */
  let folder: string;
  let canary: string;

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'escape-'));
    canary = path.join(folder, 'canary');
    writeFileSync(canary, 'the-canary-of-the-host');
    host = await startGitHost();
    stage = await startEscapeWorld({ REPLICA_ALLOW_PRIVATE_TARGETS: 'true' });
    await host.createRepository('app', { 'README.md': 'hello\n' });
    environment_id = await bindRepository(stage.org, host, 'app');
    const files = `/v1/environments/${environment_id}/files`;
    await stage.org.call('POST', files, { name: 'rc', path: '~/.config/tool.rc', content: 'a = 1\n' });
  });
  afterAll(async () => {
    const left = await stage?.close();
    await host?.close();
    rmSync(folder, { recursive: true, force: true });
    expect(left).toEqual([]);
  });
  afterEach(async () => expect(await stage.goesOn()).toBe(true));

  const get = (replica: LiveReplica, rest: string) =>
    stage.org.call('GET', `/v1/replica/${replica.id}${rest}`);

  it('is no file behind a link, no fifo and no folder on the canvas', async () => {
    const replica = await stage.create({ environment_id });
    await replica.run(
      `cd ~/.replica/canvas; ln -s ${canary} link; ln -s /etc/shadow shadow; ln -s /proc/1/environ environ; ln -s /dev/zero zero; ln -s self self
       mkfifo fifo; mkdir folder; truncate -s 1T huge; printf x >$'two\\nlines'; printf x >$'\\xff\\xfe'; echo plain >plain; ln plain hard`,
    );
    const names = async () =>
      (await get(replica, '/canvas')).body.items.map(({ filename }: { filename: string }) => filename);
    await until(async () => (await names()).includes('two\nlines'));
    expect(await names()).toEqual(['hard', 'huge', 'plain', 'two\nlines']);
    expect((await get(replica, '/canvas/content?filename=huge')).status).not.toBe(500);
    await replica.run('rm -rf ~/.replica/canvas; ln -s /etc ~/.replica/canvas');
    await until(async () => (await names()).length === 0);
  });

  it('is nothing of the host when a repository is a link, a fifo or another repository', async () => {
    const replica = await stage.create({ environment_id });
    const says = async () => {
      const { status, body } = await get(replica, '?include=diffs');
      expect(status).toBe(200);
      return JSON.stringify(body.replica.repository_statuses);
    };
    for (const command of [
      `ln -s ${canary} stolen; ln -s / root; ln -s . self; mkfifo fifo; cp -r .git inner; printf x >$'two\\nlines'; ln -sf /dev/zero README.md`,
      `git config core.fsmonitor 'touch ~/ran'; git config core.hooksPath /tmp; git config diff.external 'cat ${canary}'; git config core.attributesFile /etc/shadow`,
      'mv .git ~/moved; ln -s /etc .git',
      'rm .git; echo "gitdir: /proc/1/root/home/replica/moved" >.git',
      'rm .git; mkfifo .git',
      'rm .git; cd ..; mv app gone; ln -s / app',
    ]) {
      await replica.run(`cd ~/workspaces/app; ${command}`);
      expect(await says()).not.toContain('the-canary-of-the-host');
    }
    expect((await replica.run('ls ~/ran')).exitCode).not.toBe(0);
    await stage.sleep(replica);
    expect(await says()).not.toContain('the-canary-of-the-host');
  });

  it('is put where it belongs, and not where a link leads to', async () => {
    const replica = await stage.create({ environment_id });
    await replica.run(
      `cd; rm -rf .config .claude; ln -s /etc .config; ln -s /etc .claude; ln -s /etc/passwd .replica/system-prompt.md; ln -sf /etc/mcp.json .replica/mcp.json`,
    );
    await stage.sleep(replica);
    await stage.wake(replica);
    const { output } = await replica.run(
      'ls /etc/tool.rc /etc/mcp.json /etc/skills /etc/.replica* 2>/dev/null; head -1 /etc/passwd',
    );
    expect(output).toMatch(/^root:x:0:0:[^\n]*\n$/);
    await stage.remove(replica);
  });

  it.each([
    [
      'a turn in its journal is a fifo',
      'cd engine/turns; mkfifo a.json b.done; mkdir c.json; ln -s /dev/zero d.json',
      'engine/turns held',
    ],
    ['its journal is a link', 'rm -rf engine/turns; ln -s /proc engine/turns', 'engine/turns was a link'],
    ['its list of bases is huge', 'truncate -s 1T engine/bases.json', 'engine/bases.json was too large'],
    [
      'its list of shadows is a folder',
      'rm -f engine/shadows.json; mkdir engine/shadows.json',
      'shadows.json was a folder',
    ],
    ['its lists are garbage', 'for f in engine/*.json; do head -c 100000 /dev/urandom >$f; done', null],
    ['its outbox is a fifo', 'rm -rf engine/outbox; mkfifo engine/outbox', 'engine/outbox was a fifo'],
    [
      'a segment of its outbox is a fifo',
      'cd engine/outbox/*; rm -f *; mkfifo 0000000000000001.events',
      'Reports that were waiting',
    ],
    ['its folder of skills is a link', 'rm -rf skills; ln -s /etc skills', 'skills was a link'],
    ['its canvas is a file', 'rm -rf canvas; echo x >canvas', 'canvas was a file'],
    [
      'its settings are no files',
      'rm -f gitconfig mcp.json system-prompt.md; mkdir gitconfig; mkfifo mcp.json; ln -s /dev/zero system-prompt.md',
      'mcp.json was a fifo',
    ],
    ['~/.replica is a plain file', 'cd; rm -rf .replica; echo x >.replica', '.replica was a file'],
    ['~/.replica is a link to /', 'cd; rm -rf .replica; ln -s / .replica', '.replica was a link'],
  ])('keeps no replica from waking when %s', async (_what, mess, warning) => {
    const replica = await stage.create({ environment_id });
    await replica.run(`cd ~/.replica; echo work >~/workspaces/app/work; ${mess}`);
    await stage.sleep(replica);
    await stage.wake(replica);
    expect((await replica.rowOf()).error_message).toBe(null);
    const { body } = await get(replica, '?include=environment');
    const { warnings } = body.replica.environment;
    if (warning === null) expect(warnings).toEqual([]);
    else expect(warnings).toContainEqual(expect.stringContaining(warning));
    const { output } = await replica.run(
      `cat ~/workspaces/app/work; ls -d /engine /canvas /skills /mcp.json /etc/.new 2>/dev/null; [ -f ~/.replica/mcp.json ] && ls ~/.replica/engine/turns | wc -l`,
    );
    expect(output).toMatch(/^work\n\d+\n$/);
    await stage.remove(replica);
  });

  it('does not start when its folders are links, and is removed all the same', async () => {
    for (const command of [
      'mv -T /opt/replica /opt/moved && ln -s /etc /opt/replica',
      `mv -T /home /moved && ln -s ${folder} /home`,
    ]) {
      const replica = await stage.create({ environment_id });
      const { exitCode } = await replica.run(`(${command}) >/dev/null 2>&1`);
      await stage.sleep(replica);
      // The overlay of an ordinary user gives no folder of the base another name, so that it stays where it is.
      if (exitCode !== 0 && process.getuid?.() !== 0) {
        await stage.wake(replica);
        await stage.remove(replica);
        continue;
      }
      await stage.org.call('POST', `/v1/replica/${replica.id}/wake`);
      // It goes back to sleep, with a sentence for its owner.
      const refused = async () => {
        const { state, error_message } = await replica.rowOf();
        return state === 'sleeping' && error_message?.includes('link');
      };
      await until(refused, { timeoutMs: 20_000 });
      await stage.remove(replica);
    }
    expect(readdirSync(folder)).toEqual(['canary']);
  });

  it('runs nothing on the host, whatever a repository holds', async () => {
    const ran = path.join(folder, 'ran');
    const touch = `touch ${ran}`;
    await host.createRepository('trap', {
      '.gitattributes': '* filter=trap diff=trap merge=trap export-subst\n',
      '.gitmodules': `[submodule "x"]\n\tpath = x\n\turl = file://${folder}\n\tupdate = !${touch}\n[submodule "../../y"]\n\tpath = -u./y\n\turl = --upload-pack=${touch}\n`,
      '.githooks/post-checkout': `#!/bin/sh\n${touch}\n`,
      'hooks/post-receive': `#!/bin/sh\n${touch}\n`,
      '.gitconfig': `[core]\n\tfsmonitor = ${touch}\n[filter "trap"]\n\tsmudge = ${touch}\n`,
      'replica.json': { link: canary },
      'replica.yaml': { link: '/etc/passwd' },
      '.claude/skills/evil/SKILL.md': { link: canary },
      '.claude/skills/up': { link: '../../../../../../..' },
      'deep/link': { link: '/' },
    });
    const replica = await stage.create({ environment_id: await bindRepository(stage.org, host, 'trap') });
    expect(replica.status).toBe('active');
    const { output } = await replica.run(
      'cd ~/workspaces/trap; cat replica.json .claude/skills/evil/SKILL.md; git status --short | head -3',
    );
    expect(output).not.toContain('the-canary-of-the-host');
    const listed = [
      await stage.org.call('GET', '/v1/repositories'),
      await get(replica, '?include=environment,diffs'),
    ];
    expect(JSON.stringify(listed)).not.toContain('the-canary-of-the-host');
    expect(existsSync(ran)).toBe(false);
  });

  it('is not led astray by a repository with names that git would not write', async () => {
    await host.createRepository('forged', { 'README.md': 'hello\n' });
    const write = (type: string, content: Buffer) =>
      host.git('forged', ['hash-object', '-t', type, '-w', '--literally', '--stdin'], content);
    const link = await write('blob', Buffer.from(folder));
    const hook = await write('blob', Buffer.from(`#!/bin/sh\ntouch ${path.join(folder, 'ran')}\n`));
    const hooks = await write('tree', treeOf([['100755', 'post-checkout', hook]]));
    const inner = await write('tree', treeOf([['40000', 'hooks', hooks]]));
    const tree = await write(
      'tree',
      treeOf([
        ['40000', '..', inner],
        ['40000', '.git', inner],
        ['120000', '.GIT', link],
        ['120000', 'x/y', link],
      ]),
    );
    const commit = await write(
      'commit',
      Buffer.from(`tree ${tree}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nforged\n`),
    );
    await host.git('forged', ['update-ref', 'refs/heads/main', commit]);
    const { body } = await stage.org.call('POST', '/v1/repositories', { url: host.url('forged') });
    const made = await stage.org.call('POST', '/v1/environments', {
      name: 'forged',
      repository_id: body.repository.id,
    });
    const replica = await stage.create({ environment_id: made.body.environment.id });
    expect(['active', 'error']).toContain(replica.status);
    expect(readdirSync(folder)).toEqual(['canary']);
    await stage.remove(replica);
  });
});

/** A tree with these names, which git itself would not write. */
function treeOf(entries: [mode: string, name: string, object: string][]): Buffer {
  return Buffer.concat(
    entries.map(([mode, name, object]) =>
      Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(object, 'hex')]),
    ),
  );
}
