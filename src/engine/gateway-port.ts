import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';

/** More than any package manager opens at once; each costs a descriptor here and one in the gateway. */
const MAX_CONNECTIONS = 512;

export type GatewayPort = { port: number; close(): void };

/** Opens the gateway's socket on a TCP port of loopback, for git and for whatever believes in proxies. Bytes pass as they are. */
export async function openGatewayPort({
  port,
  socket,
}: {
  port: number;
  socket: string;
}): Promise<GatewayPort> {
  const connections = new Set<Socket>();
  const server: Server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const gateway = createConnection({ path: socket, allowHalfOpen: true });
    for (const side of [client, gateway]) {
      connections.add(side);
      side.on('close', () => connections.delete(side));
    }
    join(client, gateway);
    join(gateway, client);
  });
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port }, resolve);
  });
  // A descriptor that is missing for one connection must not end the engine.
  server.on('error', () => {});
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      for (const connection of connections) connection.destroy();
    },
  };
}

/** One direction. An end is passed on as an end; a broken side breaks the other. */
function join(from: Socket, to: Socket): void {
  from.pipe(to);
  from.on('error', () => to.destroy());
  from.on('close', (hadError) => {
    if (hadError || !from.readableEnded) to.destroy();
  });
}
