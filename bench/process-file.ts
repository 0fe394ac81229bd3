import { readFileSync } from 'node:fs';

/** A file of /proc about a process, or an empty text when the process has ended, be it while it is read. */
export function readProcessFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH'))
      return '';
    throw error;
  }
}
