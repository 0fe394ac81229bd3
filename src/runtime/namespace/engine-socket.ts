import { once } from 'node:events';
import { chmodSync, closeSync, constants, openSync, renameSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { socketName } from './layout.ts';

export type EngineSocket = {
  /** The open socket, for the process that becomes the engine. */
  descriptor: number;
  /** Lets callers in and lets go of it here. */
  publish(): void;
  /** Lets go of it here; nothing happens when it is published. */
  discard(): void;
};

/**
 * The listening socket of an engine stands in the sandbox's folder outside, where nothing inside can take its place, and
 * is handed in open. Its path may be longer than the 108 bytes the kernel takes, so it is named through an open folder.
 */
export async function bindEngineSocket(folder: string): Promise<EngineSocket> {
  const draft = path.join(folder, draftName);
  rmSync(draft, { force: true });
  const server = createServer();
  const folderDescriptor = openFolder(folder);
  let open = true;
  const discard = () => {
    if (!open) return;
    open = false;
    // Closing removes the name it was bound to, which leads through the descriptor.
    server.close();
    closeSync(folderDescriptor);
  };
  try {
    server.listen(throughDescriptor(folderDescriptor, draftName));
    await once(server, 'listening');
    chmodSync(draft, 0o600);
  } catch (error) {
    discard();
    throw error;
  }
  const publish = () => {
    // Both in one turn: nobody knows the name before, so this process never takes a connection meant for the engine.
    renameSync(draft, path.join(folder, socketName));
    discard();
  };
  return { descriptor: descriptorOf(server), publish, discard };
}

/** Connects to the engine of a sandbox, whichever process has started it. */
export async function connectEngine(folder: string, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const descriptor = openFolder(folder);
  try {
    const socket = connect(throughDescriptor(descriptor, socketName));
    try {
      await once(socket, 'connect', { signal });
    } catch (error) {
      socket.destroy();
      throw error;
    }
    return socket;
  } finally {
    closeSync(descriptor);
  }
}

export function removeEngineSocket(folder: string): void {
  for (const name of [socketName, draftName]) rmSync(path.join(folder, name), { force: true });
}

/** Node hands out the descriptor of a listening socket under no public name. */
function descriptorOf(server: Server): number {
  const { _handle: handle } = server as unknown as { _handle: { fd: number } };
  return handle.fd;
}

const draftName = `${socketName}.new`;
const openFolder = (folder: string) => openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
const throughDescriptor = (descriptor: number, name: string) => `/proc/self/fd/${descriptor}/${name}`;
