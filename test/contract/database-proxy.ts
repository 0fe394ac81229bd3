import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import pg from 'pg';

/** A way to the database that a test can cut and mend, as a network does. */
export type DatabaseProxy = {
  url: string;
  /** Ends all connections and takes no new ones. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  close(): Promise<void>;
};

export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  // The client knows how to read every kind of address a database can have.
  const { host, port, database, user, password } = new pg.Client({ connectionString: databaseUrl });
  const upstream = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
  const sockets = new Set<Socket>();
  let server: Server | null = null;
  let ownPort = 0;

  async function listen(): Promise<void> {
    server = createServer((client) => {
      const target = connect(upstream);
      for (const [one, other] of [[client, target] as const, [target, client] as const]) {
        sockets.add(one);
        one.on('error', () => {});
        one.on('close', () => {
          sockets.delete(one);
          other.destroy();
        });
        one.pipe(other);
      }
    });
    server.listen(ownPort, '127.0.0.1');
    await once(server, 'listening');
    ownPort = (server.address() as AddressInfo).port;
  }

  async function cut(): Promise<void> {
    if (!server) return;
    const closing = server;
    server = null;
    for (const socket of sockets) socket.destroy();
    closing.close();
    await once(closing, 'close');
  }

  await listen();
  const login = [user, password].map((part) => encodeURIComponent(part ?? '')).join(':');
  return { url: `postgresql://${login}@127.0.0.1:${ownPort}/${database}`, cut, mend: listen, close: cut };
}
