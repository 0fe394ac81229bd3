import { randomUUID } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileServerConfig, gitEnvironment, localSettings } from './environment.ts';
import { GitError } from './failure.ts';
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
    // Shared by all who wait, so no single caller's signal ends it.
    refuseOldGit((await execute({ args: ['version'], signal: AbortSignal.timeout(10_000) })).toString());
  }

  async function execute(command: Command): Promise<Buffer> {
    const { args, signal, remote, gitDir, maxOutputBytes = mebibyte, maxMemoryBytes } = command;
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
  }

  return async (command) => {
    // A failed preparation is tried again by the next command.
    prepared ??= prepare().catch((error: unknown) => {
      prepared = null;
      throw error;
    });
    await prepared;
    try {
      return await execute(command);
    } catch (error) {
      const isLocal = command.remote === undefined && !command.signal.aborted;
      if (!isLocal || !(error instanceof GitError) || error.kind === 'too_large') throw error;
      // Words that would blame the host of a remote mean our own copy here.
      throw new GitError('failed', 'The copy of the repository cannot be read.', { cause: error.cause });
    }
  };
}

/** An older git ignores the setting that pins it to the checked addresses. */
function refuseOldGit(text: string): void {
  const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(text) ?? [];
  if (Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 37)) return;
  throw new GitError('failed', 'The git that this service runs with is too old; it needs git 2.37 or newer.');
}
