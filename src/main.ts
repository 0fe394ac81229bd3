import { createServer } from 'node:net';
import path from 'node:path';
import type { Logger } from 'pino';
import type { FirstStart } from './account/bootstrap.ts';
import { type Config, ConfigError } from './config.ts';
import { type Database, openDatabase, requireAnswer } from './db/database.ts';
import { embeddedConnectionString } from './db/embedded/start.ts';
import { superviseEmbeddedPostgres } from './db/embedded/supervise.ts';
import { migrate } from './db/migrate.ts';
import { lockFolder } from './lib/folder-lock.ts';
import { makeFolder } from './lib/make-folder.ts';
import { writePrivateFile } from './lib/private-file.ts';
import { loadKeyRing } from './secret/key-ring.ts';
import { createSealer, type Sealer } from './secret/seal.ts';
import { wire } from './wire.ts';
import { migrateWork } from './work/migrate.ts';

export type Service = { baseUrl: string; firstStart: FirstStart | null; stop(): Promise<void> };

type StartOptions = {
  config: Config;
  log: Logger;
  onProgress?: (line: string) => void;
  /** Ends the start; what it has begun is ended too. */
  signal?: AbortSignal;
  /** What tests put in the place of real parts. */
  replaced?: Parameters<typeof wire>[0]['replaced'];
  inspectAnswer?: Parameters<typeof wire>[0]['inspectAnswer'];
};

/**
 * Starts everything in order: folder, keys, database, migrations, workers, API. Whatever ends the start
 * early, and `stop`, end what runs in the reverse order.
 */
export async function startService({
  config,
  log,
  onProgress = () => {},
  signal,
  replaced,
  inspectAnswer,
}: StartOptions): Promise<Service> {
  await using starting = new AsyncDisposableStack();
  makeFolder(config.dataDir);
  const lock = lockFolder(config.dataDir, { role: 'replica serve' });
  starting.defer(() => lock.release());

  const sealer = openSealer(config);
  const port = await probePort(config);
  const database = await connect({ config, log, onProgress, signal });
  starting.defer(() => database.close());
  signal?.throwIfAborted();
  const applied = await migrate(database.pool);
  if (applied.length > 0) onProgress(`Applied ${applied.length} database migrations.`);

  const baseUrl =
    config.baseUrl ?? `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`;
  const wired = await wire({ config, log, database, sealer, baseUrl, replaced, inspectAnswer });
  starting.defer(() => wired.stop());
  const firstStart = await wired.bootstrap(async (made) => writeBootstrapFile(config, baseUrl, made));
  signal?.throwIfAborted();
  await wired.start();
  await wired.app.listen({ host: config.host, port });
  signal?.throwIfAborted();

  const running = starting.move();
  return { baseUrl, firstStart, stop: () => running.disposeAsync() };
}

/** What the first start made, for the operator and for the command line on this machine. */
function writeBootstrapFile(config: Config, baseUrl: string, made: FirstStart): void {
  const content = {
    base_url: baseUrl,
    organization_id: made.organizationId,
    api_key: made.apiKey,
    admin: made.admin,
  };
  writePrivateFile(path.join(config.dataDir, 'bootstrap.json'), `${JSON.stringify(content, null, 2)}\n`);
}

type ConnectOptions = Required<Pick<StartOptions, 'config' | 'log' | 'onProgress'>> & {
  signal?: AbortSignal | undefined;
  /** The embedded server belongs to another process: it is neither supervised nor stopped. */
  isGuest?: boolean;
};

/** The server of DATABASE_URL, or the embedded one, which closing also stops. */
export async function connect({
  config,
  log,
  onProgress,
  signal,
  isGuest = false,
}: ConnectOptions): Promise<Database> {
  if (config.databaseUrl) {
    return requireAnswer(
      openDatabase({ url: config.databaseUrl, poolSize: config.databasePoolSize, log }),
      'DATABASE_URL',
    );
  }
  const { dataDir } = config;
  if (isGuest) {
    const url = embeddedConnectionString(dataDir);
    return requireAnswer(
      openDatabase({ url, poolSize: config.databasePoolSize, log }),
      'the running service',
    );
  }
  requireRoom(config);
  const server = await superviseEmbeddedPostgres({ dataDir, onProgress, log, ...(signal && { signal }) });
  const database = openDatabase({ url: server.connectionString, poolSize: config.databasePoolSize, log });
  return {
    ...database,
    async close() {
      await database.close();
      await server.stop();
    },
  };
}

/** The embedded server takes 100 connections, and some are for commands beside the service. */
function requireRoom({ databasePoolSize, workerConcurrency }: Config): void {
  if (databasePoolSize + workerConcurrency <= 80) return;
  throw new ConfigError(
    'REPLICA_DATABASE_POOL_SIZE and REPLICA_WORKER_CONCURRENCY are wrong: together they may be at most 80 with the embedded database',
  );
}

/** Applies what the database lacks; the names of our own migrations among it. */
export async function prepareDatabase(database: Database, log: Logger): Promise<string[]> {
  const applied = await migrate(database.pool);
  await migrateWork(database.pool, log);
  return applied;
}

export function openSealer(config: Config): Sealer {
  const load = () =>
    loadKeyRing({ fromEnvironment: config.secretKey, file: path.join(config.dataDir, 'secret.key') });
  return createSealer(load(), { reload: load });
}

/**
 * Binds the address once and lets it go. The base URL is part of what is made and printed before the API listens, so
 * the port is chosen here, and one that is taken ends the start before anything was made.
 */
async function probePort({ host, port }: Config): Promise<number> {
  const probe = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  probe.once('error', reject);
  probe.listen(port, host, () => {
    const address = probe.address();
    probe.close(() => resolve(typeof address === 'object' && address ? address.port : port));
  });
  return promise;
}
