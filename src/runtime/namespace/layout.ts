import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** Where everything of one driver stands. Nothing of it is elsewhere but groups under `groupName`. */
export type Layout = {
  root: string;
  sandboxes: string;
  layers: string;
  bases: string;
  /** What the file system of a new disk starts with. */
  seed: string;
  /** The name under which all groups of this driver stand, in every tree: another driver has another root. */
  groupName: string;
  /** Keys that have a folder. */
  listKeys(): string[];
  sandbox(key: string): SandboxPaths;
  layer(id: string): LayerPaths;
};

export type SandboxPaths = {
  folder: string;
  /** What it was made from; its absence says that the sandbox is half-made or half-removed. */
  record: string;
  /** What runs, and the engine's secret. */
  process: string;
  /** The file system as one file, where it is one. */
  image: string;
  /** Where the image is mounted, or the disk itself where it is a folder. */
  disk: string;
  /** The mount points that bubblewrap takes from; filled in a mount namespace of the sandbox's own. */
  stage: string;
  mountTable: string;
  /** What no other sandbox of this machine has; the environment of its processes outside holds it. */
  mark: string;
};

export type LayerPaths = {
  folder: string;
  record: string;
  image: string;
  disk: string;
  /** Says that it goes with its last user. */
  removed: string;
};

/** Names in a sandbox's folder that only bound programs use, relative so that their length does not matter. */
export const socketName = 'engine.sock';
export const logName = 'log';

export function createLayout(root: string): Layout {
  const folder = path.resolve(root);
  const inRoot = (name: string) => path.join(folder, name);
  return {
    root: folder,
    sandboxes: inRoot('sandboxes'),
    layers: inRoot('layers'),
    bases: inRoot('bases'),
    seed: inRoot('seed'),
    groupName: `replica-${digest(folder).slice(0, 12)}`,
    // A name that is not one of ours is somebody else's file.
    listKeys: () => list(inRoot('sandboxes')).filter((name) => namePattern.test(name)),
    sandbox: (key) => sandboxPaths(path.join(inRoot('sandboxes'), checkName(key))),
    layer: (id) => layerPaths(path.join(inRoot('layers'), id)),
  };
}

const namePattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

/** Keys and layers name folders and groups, so they cannot be any text. */
export function checkName(name: string): string {
  if (namePattern.test(name)) return name;
  throw new Error(
    'The name of a sandbox or layer has up to 128 letters, digits, hyphens or underscores and starts with one of the first two.',
  );
}

const digest = (text: string) => createHash('sha256').update(text).digest('hex');
const list = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);

function sandboxPaths(folder: string): SandboxPaths {
  return {
    folder,
    record: path.join(folder, 'sandbox.json'),
    process: path.join(folder, 'process.json'),
    image: path.join(folder, 'disk.img'),
    disk: path.join(folder, 'd'),
    stage: path.join(folder, 'stage'),
    mountTable: path.join(folder, 'mounts'),
    // The folder itself would tell those inside where things are outside.
    mark: digest(folder).slice(0, 32),
  };
}

function layerPaths(folder: string): LayerPaths {
  return {
    folder,
    record: path.join(folder, 'layer.json'),
    image: path.join(folder, 'disk.img'),
    disk: path.join(folder, 'd'),
    removed: path.join(folder, 'removed'),
  };
}
