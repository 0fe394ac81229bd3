/** A separate process for the tests: takes the lock and says so, or says why not, and waits to be killed. */
import { lockFolder } from '../../src/lib/folder-lock.ts';

const [folder = '', role = ''] = process.argv.slice(2);
try {
  lockFolder(folder, { role });
  // A lock must not depend on its handle being kept.
  globalThis.gc?.();
  process.stdout.write('locked\n');
} catch (error) {
  process.stdout.write(`${error instanceof Error ? `${error.name}: ${error.message}` : error}\n`);
}
await new Promise((resolve) => process.stdin.on('end', resolve).resume());
