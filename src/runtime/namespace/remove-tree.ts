import { lstatSync } from 'node:fs';
import type { Machine } from './machine.ts';
import { runProgram } from './run-program.ts';

/** Removes a folder with everything in it, whatever modes a sandbox has given to its files. */
export async function removeTree(folder: string, { identity }: Pick<Machine, 'identity'>): Promise<void> {
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) return;
  const remove = ['rm', '-rf', '--one-file-system', '--', folder];
  // An ordinary user may not look into folders without permissions, even own ones; root of a user namespace may.
  const [program = '', ...args] =
    identity === 'own_range' ? remove : ['unshare', '--user', '--map-root-user', ...remove];
  await runProgram(program, args, { timeoutMs: 600_000 });
}
