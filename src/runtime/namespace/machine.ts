import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
} from 'node:fs';
import path from 'node:path';
import { type HostSystem, isSharedConfiguration, programFolders } from './host-skeleton.ts';
import type { LaunchSpec } from './launch-spec.ts';
import type { DiskKind } from './records.ts';
import { programEnvironment } from './run-program.ts';

/** What a driver takes from the machine and the user it runs as. Whether it works is for the probe to find out. */
export type Machine = {
  identity: LaunchSpec['identity'];
  disk: DiskKind;
  bootId: string;
  host: HostSystem;
};

export function readMachine(): Machine {
  const identity = findIdentity();
  const canMountImages =
    identity === 'own_range' && existsSync('/dev/loop-control') && findProgram('mkfs.ext4') !== undefined;
  return {
    identity,
    disk: canMountImages ? 'image' : 'folder',
    bootId: readText('/proc/sys/kernel/random/boot_id').trim(),
    host: { programs: readPrograms(), configuration: readConfiguration() },
  };
}

/** Everything of the host that a sandbox without programs of its own is shown. */
export function hostPaths({ programs, configuration }: HostSystem): string[] {
  const own = Object.entries(programs).filter(([, what]) => what === 'folder');
  return ['/usr', ...own.map(([name]) => `/${name}`), ...configuration];
}

/** Where a program of the system is. */
export function findProgram(name: string): string | undefined {
  const candidates = programEnvironment.PATH.split(':').map((folder) => path.join(folder, name));
  return candidates.find((candidate) => {
    try {
      accessSync(candidate, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Root of a user namespace can neither mount an image nor hand out a range of users. */
export function findIdentity(): Machine['identity'] {
  const isRealRoot =
    process.getuid?.() === 0 && /^\s*0\s+0\s+4294967295\s*$/.test(readText('/proc/self/uid_map'));
  return isRealRoot ? 'own_range' : 'service_user';
}

/** Another system than Linux has none of these files; there the probe says so. */
function readText(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

function readPrograms(): HostSystem['programs'] {
  const found: Record<string, { link: string } | 'folder'> = {};
  for (const name of programFolders) {
    const stat = lstatSync(`/${name}`, { throwIfNoEntry: false });
    if (stat?.isSymbolicLink()) found[name] = { link: readlinkSync(`/${name}`) };
    else if (stat?.isDirectory()) found[name] = 'folder';
  }
  return found;
}

function readConfiguration(): string[] {
  const folders = ['/etc', '/etc/ssl', '/etc/pki', '/etc/pki/tls'].filter((folder) => existsSync(folder));
  const paths = folders.flatMap((folder) => readdirSync(folder).map((name) => path.join(folder, name)));
  // One that leads nowhere cannot be shown.
  return paths.filter((name) => isSharedConfiguration(name) && existsSync(name)).sort();
}
