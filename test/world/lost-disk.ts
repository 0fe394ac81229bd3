import path from 'node:path';
import { findIdentity } from '../../src/runtime/namespace/machine.ts';
import { removeTree } from '../../src/runtime/namespace/remove-tree.ts';

export const sandboxFolder = (dataDir: string, sandboxId: string) =>
  path.join(dataDir, 'runtime', 'namespace', 'sandboxes', sandboxId);

/** Takes away all that a sandbox has on the disk, as somebody does who tidies up in the wrong place. */
export async function loseDisk(dataDir: string, sandboxId: string): Promise<void> {
  await removeTree(sandboxFolder(dataDir, sandboxId), { identity: findIdentity() });
}
