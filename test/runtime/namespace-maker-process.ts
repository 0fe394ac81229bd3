/** Does one thing with a driver and ends, or is ended: what it has made must not need it. */
import { createNamespaceDriver, type NamespaceDriverOptions } from '../../src/runtime/namespace/driver.ts';
import { runInside, specOf } from './namespace-world.ts';

const [wish = '', action = '', key = ''] = process.argv.slice(2);
const options: NamespaceDriverOptions = JSON.parse(wish);
const driver = createNamespaceDriver(options);

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
    await driver.suspend(key);
    await driver.snapshot(key, 'layer');
    await driver.create(key, specOf({}, ['layer']));
    const second = await runInside(driver, key, 'cat ~/file; cat /proc/net/dev | wc -l');
    await driver.destroy(key);
    await driver.removeLayer('layer');
    return { first, forks, second, left: await driver.list() };
  },
};

process.stdout.write(`${JSON.stringify((await actions[action]?.()) ?? null)}\n`);
