import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isPostmasterOf } from './running.ts';
import { type EmbeddedPostgres, type EmbeddedPostgresOptions, startEmbeddedPostgres } from './start.ts';

const LOOK_EVERY_MS = 250;
const RETRY_AFTER_MS = 1_000;

export type SupervisedPostgres = Pick<EmbeddedPostgres, 'connectionString' | 'stop'>;

/**
 * Starts or adopts the embedded server and starts it again whenever it is gone, until `stop`. The signal ends the first
 * start only.
 */
export async function superviseEmbeddedPostgres(
  options: EmbeddedPostgresOptions & { log: Logger },
): Promise<SupervisedPostgres> {
  const { log, signal, ...start } = options;
  const stopping = new AbortController();
  let server = await startEmbeddedPostgres({ ...start, ...(signal && { signal }) });
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
      if (isGone()) await startAgain();
    }
  }

  /** A look that fails says nothing about the server: a process without a free file descriptor cannot look either. */
  function isGone(): boolean {
    try {
      return !isPostmasterOf(server.pid, join(start.dataDir, 'postgres'));
    } catch (error) {
      log.warn({ err: error }, 'database.watch_failed');
      return false;
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
