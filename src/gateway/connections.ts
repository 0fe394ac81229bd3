import type { Socket } from 'node:net';

/** Counts who holds connections, so that one sandbox cannot use up those of all. */
export type Connections = {
  opened(socket: Socket): void;
  /** Counts the connection for this sandbox; false when that has too many. */
  claim(socket: Socket, sandboxId: string): boolean;
};

type ConnectionLimits = {
  perSandbox: number;
  /** Connections whose sandbox is not known yet. */
  unknown: number;
};

export function createConnections(limits: ConnectionLimits): Connections {
  // In the order in which they were opened.
  const unknown = new Set<Socket>();
  const counts = new Map<string, number>();
  const owners = new WeakMap<Socket, string>();

  function leave(socket: Socket): void {
    unknown.delete(socket);
    const owner = owners.get(socket);
    owners.delete(socket);
    if (owner === undefined) return;
    const left = (counts.get(owner) ?? 1) - 1;
    if (left === 0) counts.delete(owner);
    else counts.set(owner, left);
  }

  return {
    opened(socket) {
      unknown.add(socket);
      socket.once('close', () => leave(socket));
      // An honest client says at once who it is. The oldest that has not is the one to go, not the newest.
      const [oldest] = unknown;
      if (unknown.size > limits.unknown) oldest?.destroy();
    },

    claim(socket, sandboxId) {
      if (owners.get(socket) === sandboxId) return true;
      const count = counts.get(sandboxId) ?? 0;
      if (count >= limits.perSandbox || socket.destroyed) return false;
      leave(socket);
      owners.set(socket, sandboxId);
      counts.set(sandboxId, count + 1);
      return true;
    },
  };
}
