import path from 'node:path';
import type { Logger } from 'pino';
import { place } from '../engine/place.ts';
import { chooseBase, findUsableRootfs } from './base/choose.ts';
import type { Driver } from './driver.ts';
import type { Base } from './namespace/bases.ts';

export const driverNames = ['namespace', 'process', 'fake'] as const;
export type DriverName = (typeof driverNames)[number];

export type RuntimeOptions = {
  name: DriverName;
  /** What an operator has to say before sandboxes without isolation are made. */
  acceptsNoIsolation: boolean;
  dataDir: string;
  base: 'auto' | 'host' | 'rootfs';
  /** What script/build-engine.ts has made, and what Node has compiled of it, if that is kept. */
  engine: { bundle: string; compileCache?: string | null };
  /** Holds the gateway's socket. */
  gatewayFolder: string;
  /** The programs of agents; without it there are none. */
  agentsFolder?: string;
  log?: Logger;
};

/** The runtime cannot be had as it was asked for; the message says what to set. */
export class RuntimeRefusedError extends Error {
  override name = 'RuntimeRefusedError';
}

/** The driver of that name. Only its own code is loaded. */
export async function openDriver(options: RuntimeOptions): Promise<Driver> {
  const { name, dataDir, gatewayFolder, agentsFolder, log } = options;
  const root = path.join(dataDir, 'runtime', name);
  const { bundle, compileCache = null } = options.engine;
  const engine = { bundle, compileCache, node: process.execPath };
  switch (name) {
    case 'namespace': {
      const base = resolveBase(options);
      const { createNamespaceDriver } = await import('./namespace/driver.ts');
      const readOnly = agentsFolder === undefined ? [] : [{ host: agentsFolder, inside: place.agents }];
      return createNamespaceDriver({ root, engine, gatewayFolder, base, readOnly, ...(log && { log }) });
    }
    case 'process': {
      if (!options.acceptsNoIsolation) {
        throw new RuntimeRefusedError(
          'REPLICA_RUNTIME=process runs agents as the user of the service, with no isolation at all: ' +
            'set REPLICA_I_UNDERSTAND_THERE_IS_NO_ISOLATION=true as well, or use REPLICA_RUNTIME=namespace.',
        );
      }
      const { createProcessDriver } = await import('./process/driver.ts');
      return createProcessDriver({ root, engine, gatewayFolder, ...(agentsFolder && { agentsFolder }) });
    }
    case 'fake': {
      const { createFakeDriver } = await import('./fake/driver.ts');
      return createFakeDriver({ gatewayFolder });
    }
  }
}

function resolveBase({ base, dataDir }: RuntimeOptions): Base {
  if (base === 'auto') return chooseBase(dataDir);
  if (base === 'host') return { kind: 'host' };
  const rootfs = findUsableRootfs(dataDir);
  if (rootfs) return rootfs;
  throw new RuntimeRefusedError(
    'REPLICA_SANDBOX_BASE=rootfs needs a tree and a service that runs as root: run "replica base build" first.',
  );
}
