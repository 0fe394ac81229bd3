import type { Db } from '../db/database.ts';
import type { GitRemote } from '../git/remote.ts';
import { withRenewal } from '../git/with-renewal.ts';
import type { GitHost } from '../git-host/host.ts';
import type { GitHostService } from '../git-host/service.ts';

type Parts = { db: Db; hosts: Pick<GitHostService, 'of'> };
type Place = { organizationId: string; remote: GitRemote };

/** Speaks to the host of a repository, anew with another token when the host refuses one that can be made again. */
export function createOnHost({ db, hosts }: Parts) {
  return function onHost<T>(
    { organizationId, remote }: Place,
    speak: (host: GitHost) => Promise<T>,
  ): Promise<T> {
    return withRenewal(remote, async (each) => speak(await hosts.of(db, organizationId, each)));
  };
}
