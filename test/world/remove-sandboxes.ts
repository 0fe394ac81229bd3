import { existsSync } from 'node:fs';
import path from 'node:path';
import { openDriver } from '../../src/runtime/registry.ts';

/** Removes every sandbox and snapshot of a data folder: they outlive the service, as they should. */
export async function removeSandboxes(dataDir: string): Promise<void> {
  for (const name of ['namespace', 'process'] as const) {
    if (!existsSync(path.join(dataDir, 'runtime', name))) continue;
    const driver = await openDriver({
      name,
      acceptsNoIsolation: true,
      dataDir,
      base: 'host',
      engine: { bundle: '' },
      gatewayFolder: path.join(dataDir, 'runtime', 'gateway'),
    });
    const { sandboxes, layers } = await driver.list();
    for (const { key } of sandboxes) await driver.destroy(key);
    for (const layer of layers) await driver.removeLayer(layer);
    await driver.close();
  }
}
