import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import type { Server } from 'node:net';
import { basename, join } from 'node:path';
import { place } from '../engine/place.ts';

const socketName = basename(place.gatewaySocket);
const draftName = /^\.gateway-[0-9a-f]{8}$/;
const draftAgeMs = 60_000;
/** A socket's address holds 108 bytes on Linux and 104 on macOS, with the final zero byte. */
const longestSocketPath = 100;

/**
 * Listens in the folder that sandboxes see. The socket is made under another name and then takes the place of the one
 * of an earlier process in one step, so that there is always one to connect to. Returns what removes it again.
 */
export async function listenInFolder(server: Server, folder: string): Promise<() => void> {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  // Users inside a sandbox are others outside.
  chmodSync(folder, 0o755);
  removeOldDrafts(folder);
  const draft = `.gateway-${randomUUID().slice(0, 8)}`;
  const target = join(folder, socketName);
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    server.listen({ path: addressOf(folder, { descriptor, draft }), readableAll: true, writableAll: true });
    await once(server, 'listening');
    chmodSync(join(folder, draft), 0o666);
    renameSync(join(folder, draft), target);
  } catch (error) {
    rmSync(join(folder, draft), { force: true });
    closeSync(descriptor);
    throw error;
  }
  const own = lstatSync(target).ino;
  return () => {
    closeSync(descriptor);
    // Another process may have put its own in this place.
    if (lstatSync(target, { throwIfNoEntry: false })?.ino === own) rmSync(target, { force: true });
  };
}

/** A path that is too long for a socket is reached through the open folder. */
function addressOf(folder: string, { descriptor, draft }: { descriptor: number; draft: string }): string {
  const path = join(folder, draft);
  return Buffer.byteLength(path) <= longestSocketPath ? path : `/proc/self/fd/${descriptor}/${draft}`;
}

function removeOldDrafts(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const found = draftName.test(name) ? statSync(path, { throwIfNoEntry: false }) : undefined;
    if (found && Date.now() - found.mtimeMs > draftAgeMs) rmSync(path, { force: true });
  }
}
