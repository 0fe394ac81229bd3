import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { UserSentenceError } from '../../src/lib/user-sentence.ts';
import { createNamespaceDriver } from '../../src/runtime/namespace/driver.ts';
import { createLayout } from '../../src/runtime/namespace/layout.ts';
import { createNamespaceWorld, type NamespaceWorld, obstacle, specOf } from './namespace-world.ts';

const title = 'bounds of the namespace driver';

describe.skipIf(obstacle !== undefined)(obstacle ? `${title} (skipped: ${obstacle})` : title, () => {
  let world: NamespaceWorld;
  beforeEach(async () => {
    world = await createNamespaceWorld();
  });
  afterEach(async () => {
    expect(await world.end()).toEqual([]);
  });

  test('memory, processes and disk have an end, and the engine goes on', async () => {
    await world.driver.create('one', specOf({ memoryMiB: 200, diskMiB: 64, processes: 60 }));
    const memory = await world.run(
      'one',
      `/opt/replica/node -e 'const a = []; for (;;) a.push(Buffer.alloc(1e7, 1))'`,
    );
    expect(memory.code).not.toBe(0);
    const forks = await world.run('one', 'for i in $(seq 100); do sleep 1 & done; echo never');
    expect(forks.output).toMatch(/fork|Resource temporarily unavailable/);
    await expect
      .poll(
        async () =>
          (await world.run('one', 'head -c 100000000 /dev/zero > ~/big').catch(() => ({ output: '' })))
            .output,
        {
          timeout: 20_000,
        },
      )
      .toMatch(/No space left/);
    // A full disk is no reason not to start, and it can be made emptier.
    await world.driver.suspend('one');
    await world.driver.resume('one', specOf({ memoryMiB: 200, diskMiB: 64, processes: 60 }));
    expect(await world.run('one', 'rm ~/big && echo again > ~/small && cat ~/small')).toEqual({
      code: 0,
      output: 'again\n',
    });
  });

  test('there is no network but the loopback and the gateway, also after its socket was replaced', async () => {
    const host = createServer((socket) => socket.end('host'));
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
    const replaced = createServer((socket) => socket.end('another gateway'));
    try {
      const { port } = host.address() as { port: number };
      await world.driver.create('one', specOf());
      const ask = (target: string) =>
        `/opt/replica/node -e 'require("net").connect(${target}).on("error", (e) => console.log(e.code)).pipe(process.stdout)'`;
      expect((await world.run('one', 'tail -n +3 /proc/net/dev | cut -d: -f1')).output.trim()).toBe('lo');
      expect((await world.run('one', ask(`${port}, "127.0.0.1"`))).output).toContain('ECONNREFUSED');
      expect((await world.run('one', ask('80, "169.254.169.254"'))).output).toContain('ENETUNREACH');
      expect((await world.run('one', ask('"/run/replica/gateway.sock"'))).output).toBe('gateway');
      expect((await world.run('one', 'rm /run/replica/gateway.sock')).output).toMatch(/Read-only/);
      const socket = path.join(world.options.gatewayFolder, 'gateway.sock');
      rmSync(socket);
      await new Promise<void>((resolve) => replaced.listen({ path: socket, writableAll: true }, resolve));
      expect((await world.run('one', ask('"/run/replica/gateway.sock"'))).output).toBe('another gateway');
    } finally {
      host.close();
      replaced.close();
    }
  });

  test('no descriptor is left open in the service', async () => {
    await world.driver.create('one', specOf());
    await world.driver.destroy('one');
    const before = readdirSync('/proc/self/fd').length;
    for (const key of ['one', 'two']) {
      await world.driver.create(key, specOf());
      await world.run(key, 'true');
      await world.driver.destroy(key);
    }
    await expect
      .poll(() => readdirSync('/proc/self/fd').length, { timeout: 5_000 })
      .toBeLessThanOrEqual(before);
  });

  test('a folder replaced by a link is not mounted over', async () => {
    await world.driver.create('one', specOf());
    await world.run('one', 'mv /opt /opt2; ln -s /oldroot/etc /opt');
    await world.driver.suspend('one');
    const resuming = world.driver.resume('one', specOf());
    await expect(resuming).rejects.toThrow(UserSentenceError);
    await expect(resuming).rejects.toThrow(/^The workspace has made \/opt a link, .* anew\.$/);
    expect(existsSync('/etc/replica')).toBe(false);
  });

  test('a base in which a folder is a link is refused with a sentence, by the probe too', async () => {
    const folder = path.join(world.folder, 'tree');
    mkdirSync(path.join(folder, 'opt'), { recursive: true });
    symlinkSync('/etc', path.join(folder, 'opt', 'replica'));
    const driver = createNamespaceDriver({ ...world.options, base: { kind: 'rootfs', folder } });
    const creating = driver.create('one', specOf());
    await expect(creating).rejects.toThrow(UserSentenceError);
    await expect(creating).rejects.toThrow(/\/opt\/replica is a link.*replica base build/);
    expect((await driver.probe()).problems).toEqual([expect.stringContaining('/opt/replica is a link')]);
  });

  test('no secret is seen in the list of processes, and no descriptor but the listening socket is handed in', async () => {
    await world.driver.create('one', specOf());
    const { init } = JSON.parse(
      readFileSync(createLayout(world.options.root).sandbox('one').process, 'utf8'),
    );
    for (const pid of [init.pid])
      expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain('secret');
    const { output } = await world.run('one', 'ls -l /proc/$PPID/fd | grep -o -- "-> /.*"');
    expect(output.split('\n').filter((line) => !/^(-> \/dev\/null|-> .*\/log|)$/.test(line))).toEqual([]);
  });
});
