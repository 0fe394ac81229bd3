import { randomUUID } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileServerConfig, gitEnvironment, localSettings } from './environment.ts';
import { runGit } from './process.ts';
import type { CheckedRemote } from './remote.ts';

type Command = {
  args: string[];
  signal: AbortSignal;
  /** Without a remote, git may not use any protocol. */
  remote?: CheckedRemote;
  gitDir?: string;
  maxOutputBytes?: number;
  maxMemoryBytes?: number;
};

/** Runs one git command and returns its output. */
export type Runner = (command: Command) => Promise<Buffer>;

const mebibyte = 1_048_576;

export function createRunner({ cacheDir, maxBytes }: { cacheDir: string; maxBytes: number }): Runner {
  const home = join(cacheDir, 'home');
  const globalConfig = join(cacheDir, 'file-server.config');
  let prepared: Promise<void> | null = null;

  async function prepare(): Promise<void> {
    await mkdir(home, { recursive: true, mode: 0o700 });
    const draft = `${globalConfig}.${randomUUID()}`;
    await writeFile(draft, fileServerConfig);
    await rename(draft, globalConfig);
  }

  return async ({ args, signal, remote, gitDir, maxOutputBytes = mebibyte, maxMemoryBytes }) => {
    // A failed preparation is tried again by the next command.
    prepared ??= prepare().catch((error: unknown) => {
      prepared = null;
      throw error;
    });
    await prepared;
    return runGit({
      args,
      cwd: home,
      env: gitEnvironment({
        home,
        ceiling: cacheDir,
        path: process.env.PATH ?? '/usr/bin:/bin',
        settings: remote?.settings ?? localSettings,
        ...(remote?.isFile && { globalConfig }),
        ...(gitDir !== undefined && { gitDir }),
      }),
      signal,
      maxOutputBytes,
      maxFileBytes: maxBytes,
      // A small pack may unfold into objects of any size; what a pack of the allowed size needs is well below this.
      maxMemoryBytes: maxMemoryBytes ?? 2 * maxBytes + 2048 * mebibyte,
    });
  };
}
