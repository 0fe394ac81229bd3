import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync, realpathSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { EmbeddedPostgresError } from './error.ts';

/**
 * The process id of the live postmaster of this data folder. Its pid file outlives it after a crash, and the number in
 * it may by then be any other process: the process itself is asked who it is before it is adopted or signalled.
 */
export function findPostmaster(dataFolder: string): number | undefined {
  const pid = Number(readPidFile(dataFolder)[0]);
  if (!Number.isSafeInteger(pid) || pid <= 1) return undefined;
  return isPostmasterOf(pid, dataFolder) ? pid : undefined;
}

/** True while `pid` is a PostgreSQL process that works in this data folder. */
export function isPostmasterOf(pid: number, dataFolder: string): boolean {
  return process.platform === 'linux' ? askProc(pid, dataFolder) : askPs(pid, dataFolder);
}

/** What the postmaster last wrote about itself: starting, ready, stopping. */
export function readPostmasterStatus(dataFolder: string): string {
  return readPidFile(dataFolder)[7]?.trim() ?? '';
}

/** The program and arguments that the postmaster was started with, as PostgreSQL writes them down. */
export function readStartCommand(dataFolder: string): string {
  return readText(join(dataFolder, 'postmaster.opts')).trim();
}

/**
 * PostgreSQL itself replaces a pid file whose process is gone, but believes one whose number another process of the same
 * user has by now. The caller holds the start lock and has found no postmaster.
 */
export function removeMisleadingPidFile(dataFolder: string): void {
  const pid = Number(readPidFile(dataFolder)[0]);
  if (!Number.isSafeInteger(pid) || pid <= 1 || !exists(pid)) return;
  rmSync(join(dataFolder, 'postmaster.pid'), { force: true });
}

function askProc(pid: number, dataFolder: string): boolean {
  const status = readText(`/proc/${pid}/status`);
  if (status === '' || /^State:\s+[ZX]/m.test(status)) return false;
  const uid = Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]);
  const data = statSync(dataFolder, { throwIfNoEntry: false });
  if (!data || uid !== data.uid) return false;
  try {
    const program = basename(readlinkSync(`/proc/${pid}/exe`)).replace(/ \(deleted\)$/, '');
    return program === 'postgres' && readlinkSync(`/proc/${pid}/cwd`) === realpathSync(dataFolder);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ESRCH')) return false;
    throw new EmbeddedPostgresError(
      `Process ${pid} is named as the database server of ${dataFolder} and cannot be looked at: stop it by hand.`,
      { cause: error },
    );
  }
}

function askPs(pid: number, dataFolder: string): boolean {
  try {
    const command = execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
    return command.includes('/postgres ') && command.includes(realpathSync(dataFolder));
  } catch {
    return false;
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}

function readPidFile(dataFolder: string): string[] {
  return readText(join(dataFolder, 'postmaster.pid')).split('\n');
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ESRCH', 'ENOTDIR')) return '';
    throw error;
  }
}

function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
