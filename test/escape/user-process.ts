/** Makes a sandbox as the user it runs as, tries to get out of it, and prints what each attempt said. */
import { createNamespaceDriver } from '../../src/runtime/namespace/driver.ts';
import { runInside, specOf } from '../runtime/namespace-world.ts';
import { attempts } from './attempts.ts';
import { tryRawCalls } from './raw-calls.ts';

const driver = createNamespaceDriver(JSON.parse(process.argv[2] ?? ''));
await driver.create('thief', specOf());
try {
  const said: string[] = [];
  for (const command of [...attempts.map(([, each]) => each), tryRawCalls()])
    said.push((await runInside(driver, 'thief', `(${command}\n) 2>&1`)).output);
  process.stdout.write(JSON.stringify(said));
} finally {
  await driver.destroy('thief');
}
