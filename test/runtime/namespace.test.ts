import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createNamespaceDriver } from '../../src/runtime/namespace/driver.ts';
import {
  createNamespaceWorld,
  findRemains,
  type NamespaceWorld,
  obstacle,
  runInside,
  specOf,
} from './namespace-world.ts';

const title = 'namespace driver as root';

describe.skipIf(obstacle !== undefined)(obstacle ? `${title} (skipped: ${obstacle})` : title, () => {
  let world: NamespaceWorld;
  beforeEach(async () => {
    world = await createNamespaceWorld();
  });
  afterEach(async () => {
    expect(await world.end()).toEqual([]);
  });

  test('a sandbox starts as root of its own range, in its home, without anything of our environment', async () => {
    await world.driver.create('one', specOf());
    expect(await world.driver.observe('one')).toBe('running');
    const seen = await world.run('one', 'id -u; pwd; cat /proc/self/uid_map; env | grep -c npm_');
    expect(seen.output.split(/\s+/)).toEqual(['0', '/home/replica', '0', '100000', '65536', '0', '']);
    expect(await world.driver.list()).toEqual({ sandboxes: [{ key: 'one', state: 'running' }], layers: [] });
  });

  test('the first ones of a new folder can be made at once', async () => {
    await Promise.all(['one', 'two', 'three'].map((key) => world.driver.create(key, specOf())));
    const answers = await Promise.all(['one', 'two', 'three'].map((key) => world.run(key, `echo ${key}`)));
    expect(answers.map(({ output }) => output)).toEqual(['one\n', 'two\n', 'three\n']);
  });

  test('git, python, node and a pseudo terminal work inside', async () => {
    await world.driver.create('one', specOf());
    const { code, output } = await world.run(
      'one',
      `set -e; git init -q repo; cd repo; echo 1 > f; git add f
       git -c user.name=a -c user.email=a@b commit -qm first; git log --oneline | wc -l
       /opt/replica/node -e 'console.log(require("worker_threads").isMainThread)'
       if [ -x /usr/bin/python3 ]; then /usr/bin/python3 -c 'import subprocess; subprocess.run(["true"], check=True)'; fi
       script -qec 'test -t 0 && echo terminal' /dev/null`,
    );
    expect({ code, output: output.split(/\s+/) }).toEqual({ code: 0, output: ['1', 'true', 'terminal', ''] });
  });

  test('files survive suspend and resume, and no process does', async () => {
    await world.driver.create('one', specOf());
    await world.run(
      'one',
      'echo kept > ~/file; echo too > /tmp/file; (sleep 1000 &) </dev/null >/dev/null 2>&1',
    );
    await world.driver.suspend('one');
    expect(await world.driver.observe('one')).toBe('stopped');
    await expect(world.driver.connect('one', 'engine')).rejects.toThrow('does not run');
    await world.driver.resume('one', specOf());
    expect((await world.run('one', 'cat ~/file /tmp/file; pgrep -c sleep')).output).toBe('kept\ntoo\n0\n');
  });

  test('a port inside is reached through the engine', async () => {
    await world.driver.create('one', specOf());
    await world.run(
      'one',
      `/opt/replica/node -e 'require("net").createServer((s) => s.end("inside")).listen(4000)' >/dev/null 2>&1 &
      until grep -q :0FA0 /proc/net/tcp6 /proc/net/tcp; do :; done`,
    );
    expect(await text(await world.driver.connect('one', { port: 4000 }))).toBe('inside');
    await expect(world.driver.connect('one', { port: 4001 })).rejects.toThrow('4001');
  });

  test('a snapshot becomes a layer, and two sandboxes on it do not see each other', async () => {
    const { driver, run } = world;
    await driver.create('one', specOf());
    await run('one', 'mkdir ~/folder; echo first > ~/folder/file');
    await driver.suspend('one');
    await driver.snapshot('one', 'layer');
    await driver.snapshot('one', 'layer');
    expect(await driver.list()).toEqual({ sandboxes: [], layers: ['layer'] });
    await Promise.all(['two', 'three'].map((key) => driver.create(key, specOf({}, ['layer']))));
    expect((await run('two', 'mv ~/folder ~/moved && cat ~/moved/file && echo 2 > ~/own')).output).toBe(
      'first\n',
    );
    expect((await run('three', 'ls ~')).output).toBe('folder\n');
    // A layer on a layer shows both, and what the newer one has taken away stays away.
    await driver.suspend('two');
    await driver.snapshot('two', 'newer');
    await driver.create('four', specOf({}, ['newer']));
    expect((await run('four', 'ls ~; cat ~/moved/file')).output).toBe('moved\nown\nfirst\n');
  });

  test('a removed layer lives as long as something stands on it', async () => {
    const { driver, run } = world;
    await driver.create('one', specOf());
    await run('one', 'echo first > ~/file');
    await driver.suspend('one');
    await driver.snapshot('one', 'layer');
    await driver.create('two', specOf({}, ['layer']));
    await driver.removeLayer('layer');
    expect(await driver.hasLayer('layer')).toBe(false);
    await expect(driver.create('three', specOf({}, ['layer']))).rejects.toThrow('layer does not exist');
    await driver.suspend('two');
    await driver.resume('two', specOf({}, ['layer']));
    expect((await run('two', 'cat ~/file')).output).toBe('first\n');
    await driver.destroy('two');
    expect(await findRemains(world.options.root)).toEqual([]);
  });

  test('a tree with programs of its own is the whole of what is seen', async () => {
    const tree = path.join(world.folder, 'tree');
    for (const folder of ['usr', 'etc', 'opt', 'tmp'])
      mkdirSync(path.join(tree, folder), { recursive: true });
    for (const name of ['bin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, path.join(tree, name));
    execFileSync('chown', ['-R', '100000:100000', tree]);
    const driver = createNamespaceDriver({
      ...world.options,
      base: { kind: 'rootfs', folder: tree },
      // The programs of the host stand in for those of a tree.
      readOnly: [{ host: '/usr', inside: '/usr' }],
    });
    await driver.create('one', specOf());
    const { output } = await runInside(driver, 'one', 'ls /; ls /etc; touch /etc/own && pwd');
    expect(output).toBe('bin\ndev\netc\nhome\nlib\nlib64\nopt\nproc\nrun\ntmp\nusr\n/home/replica\n');
  });
});
