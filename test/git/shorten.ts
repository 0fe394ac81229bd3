import { chmod, truncate } from 'node:fs/promises';

/** Cuts off all but the first bytes of a file that git has made for reading only. */
export async function shorten(file: string, bytes: number): Promise<void> {
  await chmod(file, 0o600);
  await truncate(file, bytes);
}
