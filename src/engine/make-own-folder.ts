import { lstatSync } from 'node:fs';
import path from 'node:path';
import { makeFolder } from '../lib/make-folder.ts';

/**
 * Makes a folder of the engine, for its owner only. From ~/.replica down nothing but folders may lead to it: what a
 * process of the workspace has linked somewhere else throws.
 */
export function makeOwnFolder(folder: string): void {
  const parts = folder.split(path.sep);
  const own = parts.lastIndexOf('.replica');
  const first = own < 0 ? parts.length : own + 1;
  for (let end = first; end <= parts.length; end += 1) makeOne(parts.slice(0, end).join(path.sep));
}

function makeOne(folder: string): void {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return;
  if (stats) throw Object.assign(new Error(`${folder} is not a folder`), { code: 'ENOTDIR' });
  makeFolder(folder);
}
