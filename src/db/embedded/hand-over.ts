import type { ServerUser } from './server-user.ts';

type Handed = { folder: string; descriptor: number; user: ServerUser | undefined };

/**
 * How a child names a folder that it inherits as an open descriptor. A child that runs as another user owns the folder,
 * but the folders above it are root's and often closed (a clone in /root, a data folder of mode 0700). Linux asks
 * nobody about those when the folder is reached through the descriptor, which every process that the child forks
 * inherits too.
 */
export function nameHandedOver({ folder, descriptor, user }: Handed): string {
  return user && process.platform === 'linux' ? `/proc/self/fd/${descriptor}` : folder;
}
