import { readFileSync, statfsSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readKernelLimits } from '../../src/runtime/namespace/kernel-limits.ts';
import { createLayout } from '../../src/runtime/namespace/layout.ts';
import type { LiveReplica } from '../world/live.ts';
import { until } from '../world/world.ts';
import { type EscapeWorld, limitObstacle, limits, startEscapeWorld, titled } from './escape-world.ts';
import { daemon, perl } from './inside.ts';

const mebibyte = 1_048_576;
/** In most containers the settings of the kernel cannot be written, and doctor says what one sandbox can take from others. */
const canRaise = readKernelLimits().every(({ value, wanted, canBeRaised }) => value >= wanted || canBeRaised);

describe.skipIf(limitObstacle !== undefined)(titled('the limits of a sandbox', limitObstacle), () => {
  let stage: EscapeWorld;
  let thief: LiveReplica;

  beforeAll(async () => {
    stage = await startEscapeWorld();
    thief = await stage.create();
  });
  afterAll(async () => expect(await stage?.close()).toEqual([]));
  afterEach(async () => expect(await stage.goesOn()).toBe(true));

  it('hold a fork bomb, and the replica works again after it has slept', async () => {
    await thief.run(`${daemon('bomb() { bomb | bomb & }; bomb; wait')} echo lit`);
    const used = await groupFile('pids', 'pids.current');
    await until(() => Number(used()) >= limits.processes - 5, { timeoutMs: 20_000 });
    expect(await stage.goesOn()).toBe(true);
    expect(Number(used())).toBeLessThanOrEqual(limits.processes);
    await stage.sleep(thief);
    await stage.wake(thief);
    expect((await thief.run('ls /proc | grep -c "^[0-9]"')).output).toMatch(/^\d\n$/);
  });

  it('end a process that takes all memory, and leave the others alone', async () => {
    const { output } = await thief.run(
      `${perl(`my @taken; push @taken, 'x' x 8_388_608 while 1`)}; echo "ended with $?"; : >/dev/shm/x`,
    );
    expect(output).toMatch(/ended with 137\n$/);
    const most = await groupFile('memory', 'memory.max_usage_in_bytes', 'memory.peak');
    expect(Number(most())).toBeLessThanOrEqual(limits.memoryMiB * mebibyte);
  });

  it('end the whole sandbox when many take all memory at once, and it comes back by itself', async () => {
    const before = await thief.rowOf();
    await thief.run(
      daemon(
        `for i in $(seq 40); do ${perl(`my @taken; push @taken, 'x' x 1_048_576 while 1`)} & done; wait; kill -KILL -1`,
      ),
    );
    await until(
      async () => {
        const row = await thief.rowOf();
        return row.state === 'active' && row.incarnation > before.incarnation;
      },
      { timeoutMs: 40_000 },
    );
    expect((await thief.run('echo back')).output).toBe('back\n');
  });

  it('end what is written: on its disk, in its memory and below /run', async () => {
    const room = freeMiB();
    const { output } = await thief.run(
      `for file in ~/fill /tmp/fill /var/fill /dev/shm/fill /run/fill; do dd if=/dev/zero of=$file bs=1M 2>&1 | grep -o "No space left"; done
       df -m / | awk 'NR == 2 { print ($2 <= ${limits.diskMiB} && $4 <= 1) }'; rm -f ~/fill /tmp/fill /var/fill /dev/shm/fill /run/fill; echo written >~/after; cat ~/after`,
    );
    expect(output).toBe(`${'No space left\n'.repeat(5)}1\nwritten\n`);
    // Others use this machine too, though hardly as much in so short a time.
    expect(room - freeMiB()).toBeLessThan(limits.diskMiB + 1_000);
    const { sandbox_id } = await thief.rowOf();
    const image = path.join(stage.world.folder, 'runtime/namespace/sandboxes', sandbox_id ?? '', 'disk.img');
    expect(statSync(image).blocks * 512).toBeLessThanOrEqual(limits.diskMiB * mebibyte);
    expect((await thief.run('cat ~/after')).output).toBe('written\n');
  });

  it('end the number of files, and what is removed can be used again', async () => {
    const { output } = await thief.run(
      `mkdir ~/many; cd ~/many; ${perl(`my $count = 0; $count++ while open(my $file, '>', "f$count"); print $count < 100_000 ? "$!\\n" : "no end\\n"`)}; rm -rf ~/many; echo written >~/after; cat ~/after`,
    );
    expect(output).toBe('No space left on device\nwritten\n');
  });

  it.skipIf(!canRaise)('end the watchers of files, and leave some for others', async () => {
    const watcher = `syscall(${process.arch === 'arm64' ? 26 : 294}, 0) >= 0`;
    const hold = perl(
      `$| = 1; my $count = 0; $count++ while ${watcher}; print "$count\\n"; select(undef, undef, undef, 60)`,
    );
    await thief.run(
      `ulimit -n 8000; ulimit -n >~/taken; ${daemon(`for i in $(seq 25); do ${hold} >>~/taken & done; wait`)} true`,
    );
    const read = async () => (await thief.run('cat ~/taken')).output.trim().split('\n').map(Number);
    await until(async () => (await read()).length === 26, { timeoutMs: 20_000 });
    const [open = 0, ...taken] = await read();
    // Each comes to the end of the files that it may open, and all together not to that of the watchers.
    expect(Math.min(...taken)).toBeGreaterThan(open - 20);
    const neighbour = await stage.neighbour();
    expect((await neighbour.run(perl(`print ${watcher} ? 'made' : $!`))).output).toBe('made');
    await thief.run('pkill -KILL perl; rm ~/taken');
  });

  it('let a replica be told to make room when its disk is full', async () => {
    await thief.run('dd if=/dev/zero of=~/fill bs=1M 2>/dev/null; cat /dev/zero >~/rest 2>/dev/null; true');
    const { output } = await thief.run('rm -f ~/fill ~/rest; echo room >~/after; cat ~/after');
    expect(output).toBe('room\n');
  }, 30_000);

  /** Reads a file of the thief's group: of the first name under version 1, of the second under version 2. */
  async function groupFile(controller: string, file: string, otherFile = file): Promise<() => string> {
    const { sandbox_id } = await thief.rowOf();
    const { groupName } = createLayout(path.join(stage.world.folder, 'runtime', 'namespace'));
    const group = path.join(groupName, `sandbox-${sandbox_id}`);
    return () => {
      try {
        return readFileSync(path.join('/sys/fs/cgroup', controller, group, file), 'utf8');
      } catch {
        return readFileSync(path.join('/sys/fs/cgroup', group, otherFile), 'utf8');
      }
    };
  }

  function freeMiB(): number {
    const { bavail, bsize } = statfsSync(stage.world.folder);
    return (bavail * bsize) / mebibyte;
  }
});
