import { execFile } from 'node:child_process';

/** A program of the system failed, or is not there. */
export class ProgramError extends Error {
  override name = 'ProgramError';
  readonly missing: boolean;

  constructor(message: string, options: { missing: boolean; cause: unknown }) {
    super(message, { cause: options.cause });
    this.missing = options.missing;
  }
}

/** Where the programs of a system are, also when the service was started with a shorter list. */
export const programEnvironment = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  // The newer interface of the kernel takes 256 bytes of an option, which is too short for a list of layers.
  LIBMOUNT_FORCE_MOUNT2: 'always',
};

/** Runs a program of the system to its end and returns what it wrote. */
export function runProgram(
  program: string,
  args: readonly string[],
  { cwd = '/', timeoutMs = 60_000 }: { cwd?: string; timeoutMs?: number } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd, env: programEnvironment, timeout: timeoutMs, killSignal: 'SIGKILL' as const };
    execFile(program, args, options, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const missing = error.code === 'ENOENT';
      const reason = missing
        ? 'is not installed'
        : `failed: ${stderr.trim().slice(0, 1_000) || error.message}`;
      reject(new ProgramError(`${program} ${reason}.`, { missing, cause: error }));
    });
  });
}
