/**
 * The real PostgreSQL under a small supervisor: one data folder, one unix socket, no port.
 *
 * The server outlives this process when it is killed, and the next start adopts it. A running server is adopted only
 * when it was started by the same programs with the same settings; otherwise it is restarted. Starting is one at a time
 * per data folder, across processes, so that nobody judges or removes what another is just making.
 */
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { tryLockFile } from '../../lib/folder-lock.ts';
import { makeFolder } from '../../lib/make-folder.ts';
import { findBinaries } from './binaries.ts';
import { ensureCluster, ROLE, writeAccessRules } from './cluster.ts';
import { EmbeddedPostgresError } from './error.ts';
import { type Launch, launchPostmaster, type Place, startCommandOf, stopPostmaster } from './postmaster.ts';
import { connectionStringOf, type Readiness, waitUntilReady } from './readiness.ts';
import {
  findPostmaster,
  isPostmasterOf,
  readPostmasterStatus,
  readStartCommand,
  removeMisleadingPidFile,
} from './running.ts';
import { chooseServerUser } from './server-user.ts';
import { chooseSocketFolder, removeSocketFolder, removeStaleSocket } from './socket-folder.ts';

export type EmbeddedPostgres = {
  /** For `pg` and psql; works for the user of this process and for root. */
  connectionString: string;
  /** The postmaster's process id. */
  pid: number;
  /** True when the server was already running. */
  adopted: boolean;
  /** Ends the server, whoever started it, and waits until it is gone. */
  stop(): Promise<void>;
};

export type EmbeddedPostgresOptions = {
  dataDir: string;
  /** PostgreSQL settings over ours; where it listens cannot be changed. */
  settings?: Record<string, string>;
  onProgress?: (line: string) => void;
  signal?: AbortSignal;
};

/** How to reach the server of a data folder that another process has started. */
export function embeddedConnectionString(dataDir: string): string {
  return connectionStringOf(chooseSocketFolder(realpathSync(dataDir)), ROLE);
}

type Wait = { onProgress: (line: string) => void; signal: AbortSignal | undefined };

const START_ATTEMPTS = 100;

/** Starts or adopts the server of this data folder and returns once its database answers. */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { signal, settings = {}, onProgress = () => {} } = options;
  signal?.throwIfAborted();
  makeFolder(options.dataDir);
  const dataDir = realpathSync(options.dataDir);
  const wait = { onProgress, signal };
  const dataFolder = join(dataDir, 'postgres');
  const place = {
    dataFolder,
    socketFolder: chooseSocketFolder(dataDir),
    logFile: join(dataDir, 'postgres.log'),
    startLock: join(dataDir, 'postgres-start.db'),
  };
  const unlock = await lockStart(place.startLock, wait);
  try {
    const user = chooseServerUser(dataFolder);
    const binaries = await findBinaries({ dataDir, user, onProgress });
    await ensureCluster({ dataFolder, binaries, user, onProgress, signal });
    return await adoptOrLaunch({ place, binaries, user, settings }, wait);
  } finally {
    unlock();
  }
}

async function lockStart(file: string, { onProgress, signal }: Wait): Promise<() => void> {
  for (let attempt = 0; ; attempt += 1) {
    const unlock = tryLockFile(file);
    if (unlock) return unlock;
    if (attempt === 20) onProgress('Waiting for another process that is starting the same database.');
    await delay(50, undefined, { signal });
  }
}

async function adoptOrLaunch(launch: Launch, wait: Wait): Promise<EmbeddedPostgres> {
  const { place, user } = launch;
  for (let attempt = 1; ; attempt += 1) {
    const running = findPostmaster(place.dataFolder);
    if (running !== undefined) {
      if (await adopt(running, launch, wait)) return toHandle(place, { pid: running, adopted: true });
      continue;
    }
    removeMisleadingPidFile(place.dataFolder);
    removeStaleSocket(place.socketFolder);
    writeAccessRules(place.dataFolder, user);
    const launched = launchPostmaster(launch);
    try {
      const readiness = await watch(place, { ...wait, isGone: launched.hasEnded });
      if (readiness === 'ready') return toHandle(place, { pid: launched.pid, adopted: false });
    } catch (error) {
      await launched.end();
      throw error;
    }
    await launched.end();
    const log = launched.readLog();
    // The last processes of a server that was killed hold its memory until they notice.
    const isPassing = /is still in use|postmaster\.pid" already exists/.test(log);
    if (!isPassing || attempt >= START_ATTEMPTS) {
      throw new EmbeddedPostgresError(
        `The database server does not start: ${firstFailure(log)} See ${place.logFile}.`,
      );
    }
    await delay(100, undefined, { signal: wait.signal });
  }
}

/** False when the server found is gone, by itself or because it had to be replaced. */
async function adopt(pid: number, launch: Launch, wait: Wait): Promise<boolean> {
  const { place } = launch;
  if (readStartCommand(place.dataFolder) !== startCommandOf(launch)) {
    wait.onProgress(
      `Restarting the database server (pid ${pid}), which runs with other programs or settings.`,
    );
    await stopPostmaster(pid, place.dataFolder);
    return false;
  }
  const readiness = await watch(place, { ...wait, isGone: () => !isPostmasterOf(pid, place.dataFolder) });
  if (readiness === 'unreachable') {
    wait.onProgress(`Restarting the database server (pid ${pid}), whose socket has been removed.`);
    await stopPostmaster(pid, place.dataFolder);
  }
  return readiness === 'ready';
}

function watch(place: Place, wait: Wait & { isGone: () => boolean }): Promise<Readiness> {
  const believesReady = () => readPostmasterStatus(place.dataFolder) === 'ready';
  return waitUntilReady({ ...wait, socketFolder: place.socketFolder, believesReady });
}

function toHandle(place: Place, found: { pid: number; adopted: boolean }): EmbeddedPostgres {
  return {
    ...found,
    connectionString: connectionStringOf(place.socketFolder, ROLE),
    async stop() {
      await stopPostmaster(found.pid, place.dataFolder);
      // Whoever starts at this moment needs the folder.
      const unlock = tryLockFile(place.startLock);
      if (unlock && findPostmaster(place.dataFolder) === undefined) removeSocketFolder(place.socketFolder);
      unlock?.();
    },
  };
}

function firstFailure(log: string): string {
  const lines = log.trim().split('\n');
  const line = lines.find((candidate) => /FATAL|PANIC|ERROR/.test(candidate)) ?? lines.at(-1) ?? '';
  return `${line.replace(/^.*?(FATAL|PANIC|ERROR):\s*/, '')}.`;
}
