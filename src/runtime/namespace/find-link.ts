import { readlinkSync } from 'node:fs';
import path from 'node:path';

/**
 * The first of these paths that is a link in a tree. Each comes after the paths above it, so that none is looked up
 * through a link, which could lead out of the tree.
 */
export function findLink(tree: string, paths: readonly string[]): string | undefined {
  return paths.find((inside) => isLink(path.join(tree, inside)));
}

function isLink(file: string): boolean {
  try {
    readlinkSync(file);
    return true;
  } catch {
    return false;
  }
}
