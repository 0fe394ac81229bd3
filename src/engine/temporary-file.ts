import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { EngineContext } from './context.ts';
import { makeOwnFolder } from './make-own-folder.ts';
import { discard } from './set-aside.ts';

let count = 0;

/** A path at which nothing is, for a file that is removed after use. */
export async function temporaryFile(context: EngineContext, kind: string): Promise<string> {
  const folder = temporaryFolder(context);
  makeOwnFolder(folder);
  count += 1;
  const file = join(folder, `${kind}-${count}`);
  await rm(file, { recursive: true, force: true });
  return file;
}

/** What a kill left behind is of no use to anybody: temporary files and half a clone. */
export function removeTemporaryFiles(context: EngineContext): void {
  for (const folder of [temporaryFolder(context), clonesFolder(context)]) {
    if (!discard(folder)) context.log(`${folder} cannot be removed`);
  }
}

/** Where clones are made before they are moved to their places, on the same disk. */
export function clonesFolder({ folder }: EngineContext): string {
  return join(folder, 'engine', 'clones');
}

function temporaryFolder({ folder }: EngineContext): string {
  return join(folder, 'engine', 'tmp');
}
