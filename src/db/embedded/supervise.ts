import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isPostmasterOf } from './running.ts';
import { type EmbeddedPostgres, type EmbeddedPostgresOptions, startEmbeddedPostgres } from './start.ts';

const LOOK_EVERY_MS = 250;
const RETRY_AFTER_MS = 1_000;

export type SupervisedPostgres = Pick<EmbeddedPostgres, 'connectionString' | 'stop'>;

/** Starts or adopts the embedded server and starts it again whenever it is gone, until `stop`. */
export async function superviseEmbeddedPostgres(
  options: Omit<EmbeddedPostgresOptions, 'signal'> & { log: Logger },
): Promise<SupervisedPostgres> {
  const { log, ...start } = options;
  const stopping = new AbortController();
  let server = await startEmbeddedPostgres(start);
  log.info({ pid: server.pid, adopted: server.adopted }, 'database.started');

  const watching = keepWatch();
  return {
    connectionString: server.connectionString,
    async stop() {
      stopping.abort();
      await watching;
      await server.stop();
    },
  };

  async function keepWatch(): Promise<void> {
    for (;;) {
      await delay(LOOK_EVERY_MS, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
      if (!isPostmasterOf(server.pid, join(start.dataDir, 'postgres'))) await startAgain();
    }
  }

  async function startAgain(): Promise<void> {
    log.error({ pid: server.pid }, 'database.gone');
    try {
      server = await startEmbeddedPostgres({ ...start, signal: stopping.signal });
      log.info({ pid: server.pid, adopted: server.adopted }, 'database.started');
    } catch (error) {
      if (stopping.signal.aborted) return;
      log.error({ err: error }, 'database.start_failed');
      await delay(RETRY_AFTER_MS, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }
}
