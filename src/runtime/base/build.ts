import { existsSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { lockFolder } from '../../lib/folder-lock.ts';
import { makeFolder } from '../../lib/make-folder.ts';
import { idRange } from '../namespace/launch-spec.ts';
import { type AptSource, findMirrors, parseSources } from './apt-source.ts';
import { findRootfs, rootfsLink } from './choose.ts';
import { finishTree, prepareTree } from './finish-tree.ts';
import { BaseBuildError, findProgram, runIsolated } from './isolated-command.ts';
import { shiftOwners } from './shift-owners.ts';

/** What hooks, agents and the engine take for granted. */
const usualPackages = ['bsdutils', 'ca-certificates', 'curl', 'git', 'less', 'procps', 'python3'];
const neededPrograms = {
  debootstrap: 'debootstrap',
  setpriv: 'util-linux',
  unshare: 'util-linux',
  chroot: 'coreutils',
};

export type BuildOptions = {
  dataDir: string;
  /** A release of Debian. */
  suite: string;
  /** Packages besides the usual ones. */
  packages: readonly string[];
  /** Build again although there is a tree. */
  force: boolean;
  onProgress(line: string): void;
  signal: AbortSignal;
};

export type BuildResult = {
  folder: string;
  isNew: boolean;
  /** Earlier trees. Sandboxes may stand on them, also sleeping ones, so that they are not removed here. */
  earlier: string[];
};

/** Makes the Debian tree that new sandboxes stand on. Until it is whole, the one before serves. */
export async function buildBase(options: BuildOptions): Promise<BuildResult> {
  const { dataDir, force, onProgress } = options;
  const current = findRootfs(dataDir);
  const parent = path.dirname(rootfsLink(dataDir));
  if (current?.kind === 'rootfs' && !force) return { folder: current.folder, isNew: false, earlier: [] };
  refuseUnlessPossible(options);
  makeFolder(parent);
  const lock = lockFolder(parent, { role: 'replica base build' });
  const draft = path.join(parent, 'draft');
  try {
    rmSync(draft, { recursive: true, force: true });
    const earlier = readdirSync(parent).filter((name) => name.startsWith('tree-'));
    await fillTree(draft, options);
    onProgress(`giving ${shiftOwners(draft, idRange.first)} files to the users of sandboxes`);
    const name = `tree-${new Date().toISOString().replace(/[-:]|\..*/g, '')}`;
    renameSync(draft, path.join(parent, name));
    symlinkSync(name, draft);
    renameSync(draft, rootfsLink(dataDir));
    return {
      folder: path.join(parent, name),
      isNew: true,
      earlier: earlier.map((tree) => path.join(parent, tree)),
    };
  } finally {
    rmSync(draft, { recursive: true, force: true });
    lock.release();
  }
}

async function fillTree(tree: string, { suite, packages, onProgress, signal }: BuildOptions): Promise<void> {
  const mirrors = findMirrors(readMachineSources(), suite);
  onProgress(`fetching Debian ${suite} from ${mirrors.main}`);
  await runIsolated({
    // Without --force-check-gpg a machine without Debian's keys takes packages of anybody.
    command: ['debootstrap', '--variant=minbase', '--force-check-gpg', suite, tree, mirrors.main],
    onLine: tellPhases(onProgress),
    signal,
  });
  prepareTree(tree, { suite, mirrors });
  const inside = (...command: string[]) => runIsolated({ command, tree, signal });
  const wanted = [...new Set([...usualPackages, ...packages])];
  onProgress('taking security updates');
  await inside('apt-get', 'update');
  await inside('apt-get', 'upgrade', '--yes');
  onProgress(`installing ${wanted.join(', ')}`);
  await inside('apt-get', 'install', '--yes', '--no-install-recommends', '--', ...wanted);
  // Nobody is there to answer what a package asks when a hook or an agent installs it.
  await inside('sh', '-c', 'echo debconf debconf/frontend select Noninteractive | debconf-set-selections');
  await inside('apt-get', 'clean');
  finishTree(tree);
}

function refuseUnlessPossible({ suite, packages }: BuildOptions): void {
  const problems: string[] = [];
  if (process.platform !== 'linux') problems.push('it can only be built on Linux');
  if (process.getuid?.() !== 0)
    problems.push('only root may make a tree of other users: run this command with sudo');
  for (const [program, debianPackage] of Object.entries(neededPrograms)) {
    if (!findProgram(program)) {
      problems.push(
        `${program} is missing: install it, on Debian and Ubuntu with "apt-get install ${debianPackage}"`,
      );
    }
  }
  // Both become arguments of programs that run as root.
  for (const name of [suite, ...packages]) {
    if (!/^[a-z0-9][a-z0-9+.-]*$/.test(name))
      problems.push(`"${name}" is not the name of a release or a package`);
  }
  if (problems.length > 0) throw new BaseBuildError(`The base cannot be built: ${problems.join('; ')}.`);
}

/** debootstrap says a line for each package; a person wants to know what it is at. */
function tellPhases(onProgress: (line: string) => void): (line: string) => void {
  let last = '';
  return (line) => {
    const phase = /^I: (Retrieving|Extracting|Unpacking|Configuring) /.exec(line)?.[1]?.toLowerCase();
    if (phase === undefined || phase === last) return;
    last = phase;
    onProgress(`${phase} packages`);
  };
}

function readMachineSources(): AptSource[] {
  const folder = '/etc/apt/sources.list.d';
  const files = existsSync(folder) ? readdirSync(folder).map((name) => path.join(folder, name)) : [];
  return ['/etc/apt/sources.list', ...files.filter((file) => /\.(list|sources)$/.test(file))]
    .filter((file) => existsSync(file))
    .flatMap((file) => parseSources(readFileSync(file, 'utf8'), file));
}
