import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { GitError } from '../git/failure.ts';
import type { CheckedRemote } from '../git/remote.ts';
import type { Serve } from '../git/serve.ts';
import type { PushTarget } from './push-target.ts';

/** Pushes to a repository of this machine, whose hooks then run as the user of the service. */
export async function openFilePushTarget(remote: CheckedRemote, serve: Serve): Promise<PushTarget> {
  const folder = fileURLToPath(remote.url);
  const owner = (await stat(folder)).uid;
  // Configuration and hooks of another user's repository would be that user's way to act as the service.
  if (owner !== process.getuid?.()) {
    throw new GitError(
      'refused',
      'The repository belongs to another user of the machine, so that it cannot be pushed to by file://.',
    );
  }
  return {
    advertise: ({ output, signal }) =>
      serve({ service: 'receive-pack', folder, input: null, output, signal }),
    receive: ({ input, output, signal }) => serve({ service: 'receive-pack', folder, input, output, signal }),
  };
}
