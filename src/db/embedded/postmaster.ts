import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Binaries } from './binaries.ts';
import { EmbeddedPostgresError } from './error.ts';
import { nameHandedOver } from './hand-over.ts';
import { isPostmasterOf } from './running.ts';
import { type ServerUser, serverEnvironment } from './server-user.ts';
import { openSocketFolder, SOCKET_PORT } from './socket-folder.ts';

export type Place = { dataFolder: string; socketFolder: string; logFile: string; startLock: string };

export type Launch = {
  place: Place;
  binaries: Binaries;
  user: ServerUser | undefined;
  settings: Record<string, string>;
};

export type LaunchedPostmaster = {
  pid: number;
  /** True once the process has ended. */
  hasEnded(): boolean;
  /** Ends it at any moment of its start, also before it can be told from other processes. */
  end(): Promise<void>;
  /** What this start has written to the log. */
  readLog(): string;
};

const POLL_MS = 10;
const START_END_PATIENCE_MS = 15_000;
const LARGEST_LOG_BYTES = 10 * 1024 * 1024;

/** Starts the server in a session of its own, where neither a Ctrl-C nor the end of this process reaches it. */
export function launchPostmaster(launch: Launch): LaunchedPostmaster {
  const { place, binaries, user } = launch;
  rotateLog(place.logFile);
  const log = openSync(place.logFile, 'a', 0o600);
  const logStart = statSync(place.logFile).size;
  const socketDescriptor = openSocketFolder(place.socketFolder, user);
  const dataDescriptor = openSync(place.dataFolder, 'r');
  try {
    const child = spawn(binaries.postgres, postmasterArguments(launch), {
      ...user,
      cwd: '/',
      env: serverEnvironment(),
      detached: true,
      stdio: ['ignore', log, log, dataDescriptor, socketDescriptor],
    });
    let ended = false;
    let failure = '';
    child.on('exit', () => {
      ended = true;
    });
    child.on('error', (error) => {
      ended = true;
      failure = error.message;
    });
    child.unref();
    return {
      pid: child.pid ?? 0,
      hasEnded: () => ended,
      async end() {
        const deadline = performance.now() + START_END_PATIENCE_MS;
        child.kill('SIGINT');
        while (!ended) {
          if (performance.now() > deadline) child.kill('SIGKILL');
          await delay(POLL_MS);
        }
      },
      readLog: () => failure || readFileSync(place.logFile).subarray(logStart).toString('utf8'),
    };
  } finally {
    closeSync(log);
    closeSync(socketDescriptor);
    closeSync(dataDescriptor);
  }
}

/** The line that PostgreSQL writes down about such a start; a running server with another line is to be restarted. */
export function startCommandOf(launch: Launch): string {
  return [launch.binaries.postgres, ...postmasterArguments(launch).map((part) => `"${part}"`)].join(' ');
}

/** Ends the server: politely, then by force. Clients are cut off, nothing committed is lost either way. */
export async function stopPostmaster(pid: number, dataFolder: string): Promise<void> {
  const steps = [
    { signal: 'SIGINT', patienceMs: 15_000 },
    { signal: 'SIGQUIT', patienceMs: 5_000 },
    { signal: 'SIGKILL', patienceMs: 5_000 },
  ] as const;
  for (const { signal, patienceMs } of steps) {
    if (!isPostmasterOf(pid, dataFolder)) return;
    sendSignal(pid, signal);
    const deadline = performance.now() + patienceMs;
    while (performance.now() < deadline) {
      if (!isPostmasterOf(pid, dataFolder)) return;
      await delay(POLL_MS);
    }
  }
  throw new EmbeddedPostgresError(`The database server (pid ${pid}) does not end, not even by SIGKILL.`);
}

function postmasterArguments({ place, user, settings }: Launch): string[] {
  const data = nameHandedOver({ folder: place.dataFolder, descriptor: 3, user });
  const socket = nameHandedOver({ folder: place.socketFolder, descriptor: 4, user });
  const all: Record<string, string> = {
    max_connections: '100',
    shared_buffers: '128MB',
    timezone: 'UTC',
    log_timezone: 'UTC',
    cluster_name: 'replica',
    // Statements and details carry what users store; the log says what failed and where, and no more.
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    ...settings,
    listen_addresses: '',
    port: String(SOCKET_PORT),
    unix_socket_directories: quoteListItem(socket),
    unix_socket_permissions: '0700',
  };
  return ['-D', data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

/** The setting is a list: a comma or a space in an unquoted path would end the item. */
function quoteListItem(path: string): string {
  return `"${path.replaceAll('"', '""')}"`;
}

function rotateLog(logFile: string): void {
  const size = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LARGEST_LOG_BYTES) renameSync(logFile, `${logFile}.1`);
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return;
    throw error;
  }
}
