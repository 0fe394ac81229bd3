import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { ENGINE_LISTEN_FD } from '../../engine/place.ts';
import { bindEngineSocket } from '../namespace/engine-socket.ts';

export { connectEngine } from '../namespace/engine-socket.ts';

export type Launch = {
  /** Holds the engine's socket and its log. */
  folder: string;
  home: string;
  node: string;
  bundle: string;
  environment: Record<string, string>;
};

/** Starts the engine so that it outlives this process, and gives its process id. */
export async function launchEngine({ folder, home, node, bundle, environment }: Launch): Promise<number> {
  const socket = await bindEngineSocket(folder);
  const log = openSync(path.join(folder, 'engine.log'), 'w', 0o600);
  try {
    const stdio: (number | 'ignore')[] = ['ignore', log, log];
    stdio[ENGINE_LISTEN_FD] = socket.descriptor;
    const child = spawn(node, [bundle], { cwd: home, env: environment, detached: true, stdio });
    socket.publish();
    await once(child, 'spawn');
    child.unref();
    if (child.pid === undefined) throw new Error('The engine has started without a process id.');
    return child.pid;
  } finally {
    socket.discard();
    closeSync(log);
  }
}
