import { GitError } from './failure.ts';
import type { GitRemote } from './remote.ts';

/** Does something with a remote, and once more when the host refuses the credential and there is another one. */
export async function withRenewal<T>(remote: GitRemote, use: (remote: GitRemote) => Promise<T>): Promise<T> {
  try {
    return await use(remote);
  } catch (error) {
    if (!(error instanceof GitError) || error.kind !== 'unauthorized') throw error;
    const credential = await remote.credential?.renew?.();
    if (!credential) throw error;
    return use({ ...remote, credential });
  }
}
