import { lstatSync, readdirSync, statSync } from 'node:fs';
import { chmod, mkdir, rm, rmdir, symlink, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { imageOptions, layerImageOptions } from './disks.ts';
import type { Layer } from './layers.ts';
import type { SandboxPaths } from './layout.ts';
import type { Machine } from './machine.ts';
import { type Mount, mountTable } from './mount-table.ts';
import { layerFolder, overlayOptions } from './overlay-options.ts';
import type { SandboxRecord } from './records.ts';

export type ReadOnlyMount = { host: string; inside: string };

/**
 * Prepares the mount points and the table of mounts. Nothing is mounted here: the start script does it, in a namespace
 * of its own. Returns the stage as bubblewrap reaches it, and what is in it.
 */
export async function prepareStage({
  paths,
  record,
  layers,
  readOnly,
  machine,
}: {
  paths: SandboxPaths;
  record: SandboxRecord;
  layers: readonly Layer[];
  readOnly: readonly ReadOnlyMount[];
  machine: Machine;
}): Promise<{ stage: string; mounts: { name: string; inside: string }[] }> {
  await clearStage(paths);
  await makePoint(paths.stage, 0o711);
  await makePoint(path.join(paths.stage, 'm'), 0o755);
  const mounts: Mount[] = [];
  if (record.disk === 'image') {
    await makePoint(paths.disk, 0o700);
    mounts.push({ source: paths.image, target: paths.disk, type: 'ext4', options: imageOptions });
  }
  await symlink(record.base, path.join(paths.folder, 'base'));
  for (const [index, layer] of layers.entries()) {
    const point = path.join(paths.folder, layerFolder(index));
    if (layer.record.disk === 'folder') await symlink(layer.paths.disk, point);
    else {
      await makePoint(point, 0o700);
      mounts.push({ source: layer.paths.image, target: point, type: 'ext4', options: layerImageOptions });
    }
  }
  const shown = [];
  for (const [index, { host, inside }] of readOnly.entries()) {
    const name = `b${index}`;
    const target = path.join(paths.stage, name);
    if (statSync(host).isDirectory()) await makePoint(target, 0o755);
    else await writeFile(target, '');
    mounts.push({ source: path.resolve(host), target, type: 'none', options: 'bind,ro' });
    shown.push({ name, inside });
  }
  const ordinaryUser = machine.identity === 'service_user';
  const options = overlayOptions({ layers: layers.length, ordinaryUser });
  mounts.push({ source: 'overlay', target: path.join(paths.stage, 'm'), type: 'overlay', options });
  // The sandbox's user outside cannot walk folders that only root may enter. In this namespace `/tmp` is free to be the
  // stage; it comes last, since what is mounted may itself come from below `/tmp`.
  if (!ordinaryUser) mounts.push({ source: paths.stage, target: '/tmp', type: 'none', options: 'rbind' });
  await writeFile(paths.mountTable, mountTable(mounts), { mode: 0o600 });
  return { stage: ordinaryUser ? paths.stage : '/tmp', mounts: shown };
}

/** Takes away what an earlier start has put up. Only empty mount points and links go: no folder is walked. */
async function clearStage(paths: SandboxPaths): Promise<void> {
  for (const name of list(paths.stage)) await removePoint(path.join(paths.stage, name));
  const points = list(paths.folder).filter(
    (name) => name === 'stage' || name === 'base' || /^l\d+$/.test(name),
  );
  for (const name of points) await removePoint(path.join(paths.folder, name));
  await rm(paths.mountTable, { force: true });
}

async function removePoint(point: string): Promise<void> {
  await (lstatSync(point).isDirectory() ? rmdir(point) : unlink(point));
}

/** The mask of this process may be stricter than what the sandbox's user needs. */
async function makePoint(folder: string, mode: number): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, mode);
}

function list(folder: string): string[] {
  return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(folder) : [];
}
