import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { loadConfig } from '../../src/config.ts';
import { openSealer } from '../../src/main.ts';
import { createFakeDriver, type FakeDriver } from '../../src/runtime/fake/driver.ts';
import { sealedContext } from '../../src/secret/sealed-columns.ts';
import { startWorld, until } from '../world/world.ts';

export type Answer = { status: number; headers: IncomingMessage['headers']; body: string };
export type Asked = {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** The host name to ask for; the service's own when absent. */
  host?: string;
};
export type PreviewStage = Awaited<ReturnType<typeof startPreviewStage>>;

/** A service on the fake driver, with programs that listen in its replicas. */
export async function startPreviewStage(environment: Record<string, string> = {}) {
  const clock = { ms: 0 };
  let driver: FakeDriver | undefined;
  const world = await startWorld({
    // A test that moves the clock by hours must not find its replica asleep.
    environment: { REPLICA_AUTO_SLEEP_SECONDS: '31536000', ...environment },
    replaced: {
      now: () => new Date(Date.now() + clock.ms),
      openDriver: async ({ gatewayFolder }) => {
        driver = createFakeDriver({ gatewayFolder });
        return driver;
      },
    },
  });
  const org = await world.org();
  const made = await org.call('POST', '/v1/environments', { name: 'plain' });
  const environment_id: string = made.body.environment.id;

  async function replica(): Promise<string> {
    const body = { name: 'one', message: 'hello', environment_id };
    const created = await org.call('POST', '/v1/replica', body);
    if (created.body.replica?.status !== 'active') throw new Error(JSON.stringify(created.body));
    return created.body.replica.id;
  }

  function rowOf(id: string) {
    return world.db.selectFrom('replica').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  }

  const reach = (id: string, state: string) => until(async () => (await rowOf(id)).state === state);

  /** The secret of a replica's engine, as its sandbox has it. */
  async function secretOf(id: string): Promise<string> {
    const row = await world.db
      .selectFrom('sandbox')
      .select(['id', 'secret'])
      .where('replica_id', '=', id)
      .executeTakeFirstOrThrow();
    const sealer = openSealer(loadConfig({ REPLICA_DATA_DIR: world.folder }));
    return sealer.open(row.secret, sealedContext('sandbox', 'secret', row.id));
  }

  /** Has something take connections to a port of a replica. */
  async function listen(id: string, port: number, onConnection: (stream: Duplex) => void): Promise<void> {
    driver?.listen((await rowOf(id)).sandbox_id ?? '', port, onConnection);
  }

  /** Has a program serve HTTP on a port of a replica; `onUpgrade` takes over connections. */
  async function serve(
    id: string,
    port: number,
    listener: RequestListener,
    onUpgrade?: (request: IncomingMessage, stream: Duplex, head: Buffer) => void,
  ): Promise<void> {
    const server = createServer(listener);
    if (onUpgrade) server.on('upgrade', onUpgrade);
    await listen(id, port, (stream) => void server.emit('connection', stream));
  }

  async function ask(path: string, asked: Asked = {}): Promise<Answer> {
    const incoming = await open(path, asked);
    return { status: incoming.statusCode ?? 0, headers: incoming.headers, body: await text(incoming) };
  }

  /** The answer as soon as its head is there. */
  async function open(
    path: string,
    { method = 'GET', headers = {}, body, host }: Asked,
  ): Promise<IncomingMessage> {
    const { hostname, port } = new URL(world.url);
    const asking = request({
      hostname,
      port,
      method,
      path,
      agent: false,
      headers: { ...headers, ...(host && { host }) },
    });
    asking.end(body);
    const [incoming] = (await once(asking, 'response')) as [IncomingMessage];
    return incoming;
  }

  return {
    world,
    org,
    clock,
    replica,
    rowOf,
    reach,
    secretOf,
    listen,
    serve,
    ask,
    open,
    withKey: { authorization: `Bearer ${org.key}` },
    register: (id: string, port: number, more: object = {}) =>
      org.call('POST', `/v1/workspaces/${id}/previews`, { port, ...more }),
    async sleep(id: string): Promise<void> {
      await org.call('POST', `/v1/workspaces/${id}/sleep`);
      await reach(id, 'sleeping');
    },
    /** A replica that has failed for good, as far as its row says. */
    async failed(): Promise<string> {
      const id = await replica();
      await world.db.updateTable('replica').set({ state: 'failed' }).where('id', '=', id).execute();
      return id;
    },
    close: () => world.close(),
  };
}
