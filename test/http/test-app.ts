import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { type Logger, pino } from 'pino';
import type { Caller } from '../../src/account/caller.ts';
import { loadConfig } from '../../src/config.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { createAdmit } from '../../src/http/admit.ts';
import { type AppParts, createApp } from '../../src/http/app.ts';
import type { Handlers } from '../../src/http/handler.ts';
import { createTokenBuckets } from '../../src/http/token-bucket.ts';
import { newId } from '../../src/lib/ids.ts';
import { openSealer } from '../../src/main.ts';
import { createDatabase } from '../world/database.ts';
import { type ApiStream, streamer } from '../world/event-stream.ts';
import { type ApiCall, caller } from '../world/world.ts';

export type TestApp = {
  app: FastifyInstance;
  url: string;
  token: string;
  database: Database;
  /** The lines of the log about requests. */
  lines: Record<string, unknown>[];
  call: ApiCall;
  stream: ApiStream;
  close(): Promise<void>;
};

type Options<T extends Record<string, Operation>> = {
  operations: T;
  handlers: Handlers<T>;
} & Partial<Pick<AppParts, 'streamLimits' | 'inspectAnswer'>>;

/** The road with operations of a test's own, on a database of its own; one token is let in. */
export async function startTestApp<T extends Record<string, Operation>>(
  options: Options<T>,
): Promise<TestApp> {
  await using starting = new AsyncDisposableStack();
  const own = await createDatabase();
  starting.defer(() => own.drop());
  const lines: Record<string, unknown>[] = [];
  const log = collectingLog(lines);
  const database = openDatabase({ url: own.url, poolSize: 2, log });
  starting.defer(() => database.close());

  const organizationId = newId();
  await database.db
    .insertInto('organization')
    .values({ id: organizationId, name: 'Test', slug: 'test' })
    .execute();
  const token = 'good';
  const known: Caller = { organizationId, kind: 'org_key', keyId: newId(), personId: null, role: 'admin' };
  const app = createApp({
    ...options,
    handlers: options.handlers as unknown as AppParts['handlers'],
    db: database.db,
    sealer: openSealer(loadConfig({ REPLICA_SECRET_KEY: Buffer.alloc(32, 7).toString('base64') })),
    log,
    bodyLimitBytes: 1_000_000,
    trustedProxies: [],
    admit: createAdmit({
      authenticate: async (shown) => (shown === token ? known : null),
      buckets: createTokenBuckets({ capacity: 1_000, refillPerSecond: 0.001, maxEntries: 10 }),
      now: () => performance.now(),
    }),
  });
  starting.defer(() => app.close());
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const everything = starting.move();
  return {
    app,
    url,
    token,
    database,
    lines,
    call: caller(url, token),
    stream: streamer(url, token),
    close: () => everything.disposeAsync(),
  };
}

function collectingLog(lines: Record<string, unknown>[]): Logger {
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  return pino({ level: 'info' }, sink);
}
