import { request } from 'undici';
import { guardedDispatcher } from '../lib/address-guard.ts';
import type { CheckedRemote } from './remote.ts';

/** Whether a server announces git's protocol. A server that cannot be asked has the benefit of the doubt. */
export async function isGitHost(remote: CheckedRemote, signal: AbortSignal): Promise<boolean> {
  if (remote.isFile) return true;
  // The addresses are the checked ones, so the guard only has to hold on to them.
  const dispatcher = guardedDispatcher({ allowPrivateTargets: true, lookup: async () => remote.addresses });
  try {
    const answer = await request(`${remote.url}/info/refs?service=git-upload-pack`, {
      dispatcher,
      signal,
      headers: remote.authorization === null ? {} : { authorization: remote.authorization },
    });
    // The rest of the body is of no interest; destroying the dispatcher below ends it with an error.
    answer.body.on('error', () => {});
    return String(answer.headers['content-type']).startsWith('application/x-git-upload-pack-advertisement');
  } catch {
    signal.throwIfAborted();
    return true;
  } finally {
    await dispatcher.destroy();
  }
}
