import { readFileSync, statSync } from 'node:fs';
import { EmbeddedPostgresError } from './error.ts';

export type ServerUser = { uid: number; gid: number };

/**
 * The user that the server's processes run as; undefined is the user of this process. PostgreSQL refuses to run as
 * root, and it refuses a data folder of another user: data that exists keeps its owner, whoever could be chosen today.
 */
export function chooseServerUser(dataFolder: string): ServerUser | undefined {
  const self = process.getuid?.();
  const owner = statSync(dataFolder, { throwIfNoEntry: false });
  if (self !== 0) {
    if (owner && owner.uid !== self) {
      throw new EmbeddedPostgresError(
        `${dataFolder} belongs to user id ${owner.uid} and this process runs as ${self}: ` +
          'start it as that user or as root, or choose another REPLICA_DATA_DIR.',
      );
    }
    return undefined;
  }
  if (!owner) {
    const { uid, gid } = findUnprivilegedUser();
    return { uid, gid };
  }
  if (owner.uid === 0) {
    throw new EmbeddedPostgresError(
      `${dataFolder} belongs to root, and PostgreSQL does not run as root: ` +
        `give it to another user with "chown -R ${findUnprivilegedUser().name} ${dataFolder}".`,
    );
  }
  return { uid: owner.uid, gid: owner.gid };
}

/** The service's environment holds secrets and PG* variables, neither of which the server's processes should see. */
export function serverEnvironment(): Record<string, string> {
  return { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}

function findUnprivilegedUser(): ServerUser & { name: string } {
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = users.find((fields) => fields[0] === name) ?? [];
    if (Number(uid) > 0 && Number(gid) > 0) return { name, uid: Number(uid), gid: Number(gid) };
  }
  throw new EmbeddedPostgresError(
    'PostgreSQL does not run as root, and there is no user "postgres" or "nobody" to run it as: add one with useradd.',
  );
}
