import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type LiveReplica, processesOf } from '../world/live.ts';
import { sandboxFolder } from '../world/lost-disk.ts';
import { attempts } from './attempts.ts';
import { type EscapeWorld, obstacle, startEscapeWorld, titled } from './escape-world.ts';
import { perl } from './inside.ts';
import { callNames, tryRawCalls } from './raw-calls.ts';

const canary = 'the-canary-of-the-host';

describe.skipIf(obstacle !== undefined)(titled('the host around a sandbox', obstacle), () => {
  let stage: EscapeWorld;
  let thief: LiveReplica;
  let folder: string;
  let settings: string;

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'escape-'));
    writeFileSync(path.join(folder, 'canary'), canary, { mode: 0o666 });
    settings = readSettings();
    stage = await startEscapeWorld();
    thief = await stage.create();
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    expect(await stage?.close()).toEqual([]);
    expect(readSettings()).toBe(settings);
  });
  afterEach(async () => expect(await stage.goesOn()).toBe(true));

  it.each(attempts)('has nobody inside who can %s', async (_what, command, nothing) => {
    expect((await thief.run(`(${command}\n) 2>&1`)).output).toMatch(nothing);
  });

  it('answers none of the calls that a sandbox has no business with', async () => {
    expect((await thief.run(tryRawCalls())).output).toBe(`${callNames.length} tried\n`);
  });

  it('shows none of its files, by whatever way they are asked for', async () => {
    const { sandbox_id } = await (await stage.neighbour()).rowOf();
    const disk = sandboxFolder(stage.world.folder, sandbox_id ?? '');
    const wanted = [
      path.join(folder, 'canary'),
      path.join(stage.world.folder, 'secret.key'),
      path.join(disk, 'disk.img'),
      path.join(disk, 'process.json'),
      path.join(process.cwd(), 'package.json'),
      '/root/.bashrc',
      '/etc/machine-id',
    ];
    const ways = ['', '/proc/1/root', '/proc/self/root', '/proc/2/cwd/../../..', '/proc/1/task/1/root/..'];
    const asked = wanted.flatMap((file) => ways.map((way) => `cat '${way}${file}'`)).join('; ');
    const { output } = await thief.run(
      `(${asked}; cat /etc/shadow; ls -A /root /home /mnt /srv) 2>/dev/null`,
    );
    const [shadow, listed] = output.split('nobody:*:19000:0:99999:7:::\n');
    // The only shadow there is was made for sandboxes.
    expect(shadow).toMatch(/^root:\*:19000:[^\n]*\n(daemon|www-data):\*[^\n]*\n(www-data):\*[^\n]*\n$/);
    expect(listed).toBe('/home:\nreplica\n\n/mnt:\n\n/root:\n\n/srv:\n');
  });

  it('shows none of its secrets in the memory, the environment or the command line of a process', async () => {
    const secrets = [readFileSync(path.join(stage.world.folder, 'secret.key'), 'utf8').trim(), stage.org.key];
    const { output } = await thief.run(
      `cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/mountinfo /proc/cmdline 2>/dev/null | tr '\\0' '\\n'`,
    );
    for (const secret of [...secrets, 'DATABASE_URL', 'postgres']) expect(output).not.toContain(secret);
  });

  it('has handed the engine nothing open but its socket, its log and what it opened itself', async () => {
    const { output } = await thief.run(`for link in /proc/2/fd/*; do readlink $link; done | sort -u`);
    const strange = output
      .trimEnd()
      .split('\n')
      .filter((target) => !/^((socket|pipe|anon_inode):|\/dev\/null$|\/home\/replica\/)/.test(target));
    expect(strange).toEqual([expect.stringMatching(/\/d\/log$/)]);
    expect((await thief.run('ls /proc/2/fd/1/..')).exitCode).not.toBe(0);
    // Where sandboxes have no user of their own outside, the log is theirs as everything on their disk is.
    const leak = await thief.run('cat /proc/2/fd/1 || : >/proc/2/fd/1');
    if (process.getuid?.() === 0) expect(leak.exitCode).not.toBe(0);
  });

  it('has no process that can be seen, signalled, traced or read from inside', async () => {
    const pid = process.pid;
    const { output } = await thief.run(
      perl(`my ($trace, $read) = \`uname -m\` =~ /aarch64/ ? (117, 270) : (101, 310); my $memory = "\\0" x 64; my $vector = pack('QQ', unpack('Q', pack('p', $memory)), 8);
        for my $pid (${pid}, ${process.ppid}) {
          print kill(0, $pid), ' ', kill(9, $pid), ' ', syscall($trace, 16, $pid, 0, 0), ' ', syscall($read, $pid, $vector, 1, $vector, 1, 0), ' ', syscall(434, $pid, 0), "\\n" }`),
    );
    expect(output).toBe('0 0 -1 -1 -1\n'.repeat(2));
  });

  it('keeps every process of a sandbox away from the users of the host', async () => {
    const { sandbox_id } = await thief.rowOf();
    const users = processesOf(sandbox_id ?? '').map(
      (pid) => /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1],
    );
    expect(users.length).toBeGreaterThan(0);
    if (process.getuid?.() === 0) expect(new Set(users)).toEqual(new Set(['100000']));
    else expect(users).not.toContain('0');
  });
});

/** What a sandbox must not have changed. */
function readSettings(): string {
  const names = ['core_pattern', 'hostname', 'pid_max', 'shmmax', 'msgmax', 'domainname'];
  const values = names.map((name) => readFileSync(`/proc/sys/kernel/${name}`, 'utf8'));
  return JSON.stringify([...values, hostname(), readdirSync('/')]);
}
