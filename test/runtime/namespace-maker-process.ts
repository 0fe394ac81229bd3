/** Does one thing with a driver and ends, or is ended: what it has made must not need it. */
import { createNamespaceDriver, type NamespaceDriverOptions } from '../../src/runtime/namespace/driver.ts';
import { runInside, specOf } from './namespace-world.ts';

const [wish = '', action = '', key = ''] = process.argv.slice(2);
const options: NamespaceDriverOptions = JSON.parse(wish);
const driver = createNamespaceDriver(options);

/** Makes instances of inotify until there are no more. */
const countWatchers = `ulimit -n "$(ulimit -Hn)"; perl -e 'my $count = 0; $count++ while syscall(${process.arch === 'arm64' ? 26 : 294}, 0) >= 0; print $count'`;

const actions: Record<string, () => Promise<unknown>> = {
  probe: () => driver.probe(),
  create: () => driver.create(key, specOf()),
  destroy: () => driver.destroy(key),
  /** The whole life of a sandbox, for a user who cannot run the tests themselves. */
  async live() {
    await driver.create(key, specOf({ processes: 40 }));
    const first = await runInside(
      driver,
      key,
      'id -u; echo kept > ~/file; mkdir -m 0 ~/shut; ls /proc | grep -c "^[0-9]"',
    );
    const forks = await runInside(driver, key, 'for i in $(seq 60); do sleep 1 & done; echo never');
    const watchers = await runInside(driver, key, countWatchers);
    await driver.suspend(key);
    await driver.snapshot(key, 'layer');
    await driver.create(key, specOf({}, ['layer']));
    const second = await runInside(driver, key, 'cat ~/file; cat /proc/net/dev | wc -l');
    await driver.destroy(key);
    await driver.removeLayer('layer');
    return { first, forks, watchers, second, left: await driver.list() };
  },
};

process.stdout.write(`${JSON.stringify((await actions[action]?.()) ?? null)}\n`);
