import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import path from 'node:path';
import { writeHomeFile } from './home-file.ts';
import { checkParts, homeParts, PlacementError, useHomeFolder } from './home-folder.ts';
import type { BootPlan } from './protocol.ts';

const OWN = '.replica';
const SKILLS = 'skills';
/** Below the folder of skills, where a rename moves a whole one into its place. */
const STAGING = '.new';
/** Names of the skills that came from a plan; others somebody has put there and may keep. */
const LIST = 'installed-skills.json';
/** Where the agents look for skills, below the home directory. */
const AGENTS = ['.claude', '.agents', '.codex', '.cursor'];

/**
 * Puts the skills of the plan under ~/.replica/skills in place of those of the plan before, and links that folder to
 * where each agent looks. Where somebody has a folder of their own, each skill is linked into it under a name that is
 * free.
 */
export function installSkills(
  home: string,
  skills: BootPlan['skills'],
): { installed: string[]; warnings: string[] } {
  const warnings: string[] = [];
  const installed = new Map<string, string>();
  const before = useHomeFolder(home, [OWN], readList);
  useHomeFolder(home, [OWN, SKILLS], (folder) => removeAll(folder, [...before, STAGING]));
  for (const { slug, files } of skills) {
    try {
      installed.set(installSkill(home, { slug, files }), slug);
    } catch (error) {
      if (!(error instanceof PlacementError)) throw error;
      warnings.push(`The skill ${slug} was not installed: ${error.message}.`);
    }
  }
  const names = [...installed.keys()];
  const list = Buffer.from(JSON.stringify(names));
  writeHomeFile({ home, parts: [OWN, LIST], content: list, mode: 0o644 });
  useHomeFolder(home, [OWN, SKILLS], (folder) => removeAll(folder, [STAGING]));
  for (const agent of AGENTS) {
    try {
      useHomeFolder(home, [agent], (folder) => linkSkills(folder, names));
    } catch (error) {
      if (!(error instanceof PlacementError)) throw error;
      warnings.push(`Skills were not linked into ~/${agent}: ${error.message}.`);
    }
  }
  return { installed: [...installed.values()], warnings };
}

function installSkill(home: string, { slug, files }: BootPlan['skills'][number]): string {
  // Agents look one level deep only.
  const name = slug.replaceAll('/', '-');
  checkParts([name]);
  for (const file of files) {
    const parts = [OWN, SKILLS, STAGING, name, ...homeParts(file.path)];
    writeHomeFile({ home, parts, content: Buffer.from(file.contentBase64, 'base64'), mode: 0o644 });
  }
  useHomeFolder(home, [OWN, SKILLS, STAGING, name], () => {});
  useHomeFolder(home, [OWN, SKILLS], (folder) => {
    if (kindOf(path.join(folder, name)) !== 'nothing') throw new PlacementError('another one has its name');
    renameSync(path.join(folder, STAGING, name), path.join(folder, name));
  });
  return name;
}

function readList(folder: string): string[] {
  try {
    const descriptor = openSync(
      path.join(folder, LIST),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
    try {
      const names: unknown = JSON.parse(readFileSync(descriptor, 'utf8'));
      return Array.isArray(names)
        ? names.filter((name) => typeof name === 'string' && /^[\w.-]+$/.test(name))
        : [];
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return [];
  }
}

function removeAll(folder: string, names: readonly string[]): void {
  for (const name of names) {
    checkParts([name]);
    rmSync(path.join(folder, name), { recursive: true, force: true });
  }
}

function linkSkills(folder: string, names: readonly string[]): void {
  const place = path.join(folder, SKILLS);
  const target = path.join('..', OWN, SKILLS);
  const kind = kindOf(place);
  if (kind === 'nothing') symlinkSync(target, place);
  if (kind === 'folder') linkEach(place, { target: path.join('..', target), names });
}

function linkEach(folder: string, { target, names }: { target: string; names: readonly string[] }): void {
  for (const name of readdirSync(folder)) {
    const place = path.join(folder, name);
    if (kindOf(place) === 'link' && path.dirname(readlinkSync(place)) === target) rmSync(place);
  }
  for (const name of names) {
    const place = path.join(folder, name);
    if (kindOf(place) === 'nothing') symlinkSync(path.join(target, name), place);
  }
}

function kindOf(place: string): 'nothing' | 'link' | 'folder' | 'file' {
  const stats = lstatSync(place, { throwIfNoEntry: false });
  if (!stats) return 'nothing';
  if (stats.isSymbolicLink()) return 'link';
  return stats.isDirectory() ? 'folder' : 'file';
}
