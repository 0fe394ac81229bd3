import type { TreeEntry } from '../git/tree-listing.ts';
import { findRegistrySkills } from '../repository/skills.ts';

/** A folder with a `SKILL.md` and the plain files in it, except those of a skill further down. */
export type SkillFolder = {
  /** Empty for the root. */
  folder: string;
  /** The name of the folder; of the repository for the root. */
  name: string;
  files: { path: string; bytes: number }[];
  bytes: number;
};

export const skillLimits = {
  /** Of one skill. */
  files: 200,
  bytes: 2 * 1_048_576,
  /** Of all skills of a workspace together. */
  totalBytes: 16 * 1_048_576,
} as const;

/** What the file systems of Linux take, with room for the folder that a skill is put into. */
const MAX_PART_BYTES = 255;
const MAX_PATH_BYTES = 1_024;

/** In the order of paths. `rootName` names a skill that is the repository as a whole. */
export function findSkillFolders(entries: TreeEntry[], rootName: string): SkillFolder[] {
  const found = findRegistrySkills(entries, rootName).map(({ path, name }) => ({
    folder: path.split('/').slice(0, -1).join('/'),
    name,
    files: [],
    bytes: 0,
  }));
  const root = makeForest(found);
  for (const { path, kind, size } of entries) {
    const skill = kind === 'file' ? nearest(root, path) : null;
    if (skill === null) continue;
    skill.files.push({ path, bytes: size });
    skill.bytes += size;
  }
  return found;
}

/** Why a skill cannot be installed as it is, as the end of a sentence; null when it can. */
export function refuseFolder({ folder, files, bytes }: SkillFolder): string | null {
  if (files.length > skillLimits.files) return `it has more than ${skillLimits.files} files`;
  if (bytes > skillLimits.bytes) return 'it holds more than 2 MiB';
  const paths = new Set(files.map(({ path }) => path));
  const isWritable =
    files.every(({ path }) => isShort(path)) &&
    !files.some(({ path }) => liesBelowFile(path, { folder, paths }));
  return isWritable ? null : 'it has files that cannot be written to a disk';
}

type Node = { skill: SkillFolder | null; children: Map<string, Node> };

/** The folders of skills alone, so that most paths are told apart by their first part. */
function makeForest(skills: SkillFolder[]): Node {
  const root: Node = { skill: null, children: new Map() };
  for (const skill of skills) {
    let node = root;
    for (const part of skill.folder === '' ? [] : skill.folder.split('/')) {
      const child: Node = node.children.get(part) ?? { skill: null, children: new Map() };
      node.children.set(part, child);
      node = child;
    }
    node.skill = skill;
  }
  return root;
}

/** The skill whose folder is the closest one above a file. */
function nearest(root: Node, path: string): SkillFolder | null {
  let skill = root.skill;
  let node = root;
  for (let start = 0; ; ) {
    const slash = path.indexOf('/', start);
    const child = slash < 0 ? undefined : node.children.get(path.slice(start, slash));
    if (child === undefined) return skill;
    skill = child.skill ?? skill;
    node = child;
    start = slash + 1;
  }
}

function isShort(path: string): boolean {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return false;
  return path.split('/').every((part) => Buffer.byteLength(part) <= MAX_PART_BYTES);
}

/** git's own tools make no tree with a file and a folder of one name, but a tree can be made without them. */
function liesBelowFile(path: string, skill: { folder: string; paths: ReadonlySet<string> }): boolean {
  for (let end = path.lastIndexOf('/'); end > skill.folder.length; end = path.lastIndexOf('/', end - 1)) {
    if (skill.paths.has(path.slice(0, end))) return true;
  }
  return false;
}
