import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import { FolderLockedError, lockFolder } from '../lib/folder-lock.ts';
import { createLog } from '../lib/log.ts';
import { makeFolder } from '../lib/make-folder.ts';

/** Runs `work` on the service's database, beside a running service or with nothing else up. */
export async function withDatabase<T>(
  options: { config: Config; role: string },
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const { config, role } = options;
  const { connect } = await import('../main.ts');
  makeFolder(config.dataDir);
  const lock = lockUnlessServed(config.dataDir, role);
  const database = await connect({
    config,
    log: createLog('warn'),
    onProgress: (line) => console.error(line),
    // A service that holds the folder also owns the embedded server.
    isGuest: lock === null,
  });
  try {
    return await work(database);
  } finally {
    await database.close();
    lock?.release();
  }
}

function lockUnlessServed(folder: string, role: string): { release(): void } | null {
  try {
    return lockFolder(folder, { role });
  } catch (error) {
    if (error instanceof FolderLockedError) return null;
    throw error;
  }
}
