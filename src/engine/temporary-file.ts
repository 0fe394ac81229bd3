import { rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { EngineContext } from './context.ts';

let count = 0;

/** A path nobody else uses, for a file that is removed after use. */
export async function temporaryFile(context: EngineContext, kind: string): Promise<string> {
  const folder = temporaryFolder(context);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  count += 1;
  return join(folder, `${kind}-${count}`);
}

/** What a kill left behind is of no use to anybody. */
export function removeTemporaryFiles(context: EngineContext): void {
  try {
    rmSync(temporaryFolder(context), { recursive: true, force: true });
  } catch (error) {
    context.log(`temporary files are not removed: ${String(error)}`);
  }
}

function temporaryFolder({ folder }: EngineContext): string {
  return join(folder, 'engine', 'tmp');
}
