import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type LiveReplica, processesOf } from '../world/live.ts';
import { until } from '../world/world.ts';
import { type EscapeWorld, obstacle, startEscapeWorld, titled } from './escape-world.ts';
import { daemon, perl } from './inside.ts';

describe.skipIf(obstacle !== undefined)(titled('a sandbox that does not want to end', obstacle), () => {
  let stage: EscapeWorld;

  beforeAll(async () => {
    stage = await startEscapeWorld();
  });
  afterAll(async () => expect(await stage?.close()).toEqual([]));
  afterEach(async () => expect(await stage.goesOn()).toBe(true));

  /** Waits for another start of the sandbox than the one that was. */
  async function untilAnew(replica: LiveReplica, before: { incarnation: number }): Promise<void> {
    await until(
      async () => {
        const row = await replica.rowOf();
        return row.state === 'active' && row.incarnation > before.incarnation;
      },
      { timeoutMs: 20_000 },
    );
    expect((await replica.run('echo back')).output).toBe('back\n');
  }

  it.each([
    ['its engine is killed', 'kill -KILL 2'],
    ['everything is killed', 'kill -KILL -1'],
  ])('ends when %s, and the replica gets a new one', async (_what, command) => {
    const replica = await stage.create();
    const before = await replica.rowOf();
    // In the background, so that the turn is over by then.
    await replica.run(`${daemon(`sleep 1; ${command}; sleep 600`)} true`);
    await untilAnew(replica, before);
    expect((await replica.run('ps -e -o comm= | grep -c sleep')).output).toBe('0\n');
    await stage.remove(replica);
  });

  it.each([
    ['put to sleep', 'sleep'],
    ['deleted', 'remove'],
  ] as const)('leaves no process when it is %s, whatever its processes do to stay', async (_what, end) => {
    const replica = await stage.create();
    await replica.run(
      `${daemon('while :; do sleep 1; done')} ${daemon('exec -a hidden env -i sleep 600')}
       ${perl(`use POSIX; for (1 .. 3) { exit if fork; POSIX::setsid() } $SIG{$_} = 'IGNORE' for keys %SIG; close $_ for *STDIN, *STDOUT, *STDERR; sleep 600`)} & true`,
    );
    const { sandbox_id } = await replica.rowOf();
    const left = () => [...processesOf(sandbox_id ?? ''), ...processesInGroup(sandbox_id ?? '')];
    expect(left().length).toBeGreaterThan(3);
    await stage[end](replica);
    expect(left()).toEqual([]);
    if (end === 'sleep') await stage.remove(replica);
  });

  it('is removed when it holds its own first process', async () => {
    const replica = await stage.create();
    // Traced, the first process does not see the end of the engine, and the sandbox stays without one.
    await replica.run(`${perl(attachToFirst)} >/dev/null 2>&1 &`);
    const { sandbox_id } = await replica.rowOf();
    await until(() => processesOf(sandbox_id ?? '').every((pid) => !commandOf(pid).includes('engine.mjs')));
    await stage.remove(replica);
    expect(processesInGroup(sandbox_id ?? '')).toEqual([]);
  });

  it('harms nobody when an impostor answers in the place of its engine, without an end', async () => {
    const replica = await stage.create();
    await replica.run(
      `${perl(impostor)} >/dev/null 2>&1 & for i in $(seq 100); do [ -e /tmp/ready ] && break; sleep 0.05; done`,
    );
    const before = process.memoryUsage().rss;
    await stage.org.call('POST', `/v1/replica/${replica.id}/messages`, {
      message: 'SCRIPT:[{"say":"hello"}]',
    });
    expect(await stage.goesOn()).toBe(true);
    expect((process.memoryUsage().rss - before) / 1_048_576).toBeLessThan(200);
    await stage.remove(replica);
  });

  it('sleeps, wakes and is removed with ten thousand folders in each other and other odd files', async () => {
    const replica = await stage.create();
    const { output } = await replica.run(
      `cp /bin/true ~/rights; chmod 6755 ~/rights; mkdir ~/odd; cd ~/odd; printf x >$'two\\nlines'; printf x >$'\\xff'; touch -d @-99999999 old; touch -d 2400-01-01 new; mkdir -m 0 shut; mkfifo fifo
       ${perl(`symlink('l' . ($_ + 1), "l$_") for 0 .. 3_000; for (1 .. 10_000) { mkdir 'd' or die $!; chdir 'd' or die $! } print "made\\n"`)}`,
    );
    expect(output).toBe('made\n');
    await stage.sleep(replica);
    await stage.wake(replica);
    expect((await replica.run(`find ~/odd -name d -prune -o -type f -printf x | wc -c`)).output).toBe('4\n');
    await stage.remove(replica);
  });
});

/** The processes of a sandbox by its control group, which no process can leave. */
function processesInGroup(sandboxId: string): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return (
        /^\d+$/.test(name) && readFileSync(`/proc/${name}/cgroup`, 'utf8').includes(`sandbox-${sandboxId}`)
      );
    } catch {
      return false;
    }
  });
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/** Stops the first process of the sandbox by tracing it, and ends the engine a moment later. */
const attachToFirst = `
  use POSIX; POSIX::setsid(); my $trace = \`uname -m\` =~ /aarch64/ ? 117 : 101;
  syscall($trace, 16, 1, 0, 0) == 0 or exit; sleep 1; kill 9, 2; sleep 600`;

/** Takes the listening socket out of the engine, stops the engine, and answers each caller for ever. */
const impostor = `
  use POSIX; POSIX::setsid(); my $accept = \`uname -m\` =~ /aarch64/ ? 202 : 43;
  my $engine = syscall(434, 2, 0); my $socket = syscall(438, $engine, 3, 0); $socket >= 0 or exit;
  open(my $flag, '>', '/tmp/ready'); close $flag; sleep 1; kill 'STOP', 2;
  for (;;) {
    my $caller = syscall($accept, $socket, 0, 0);
    if ($caller < 0) { select(undef, undef, undef, 0.01); next }
    open(my $line, '+<&=', $caller); next if fork;
    syswrite($line, "HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\n\\r\\n"); 1 while syswrite($line, '[' x 65_536); exit;
  }`;
