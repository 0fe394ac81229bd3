import { readFileSync } from 'node:fs';
import path from 'node:path';
import { makeFolder } from '../lib/make-folder.ts';
import { writePrivateFile } from '../lib/private-file.ts';

/** The id of this data folder's driver, made once. Sandboxes are where they were made, so their jobs go there too. */
export function loadHostId(dataDir: string, newId: () => string): string {
  const folder = path.join(dataDir, 'runtime');
  const file = path.join(folder, 'host-id');
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  makeFolder(folder);
  const id = newId();
  writePrivateFile(file, `${id}\n`);
  return id;
}

/** The name under which the workers of one host, and of no other, take a job. */
export function hostTask(name: string, hostId: string): string {
  return `${name}@${hostId}`;
}
