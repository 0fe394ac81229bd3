import { lstatSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { writeHomeFile } from './home-file.ts';
import { checkParts, homeParts, PlacementError, placementProblem, useHomeFolder } from './home-folder.ts';
import { listFolder } from './list-folder.ts';
import type { BootPlan } from './protocol.ts';
import { readOwnJson } from './read-own-file.ts';
import { describeAside, setAside } from './set-aside.ts';
import { OWN_FILE_BYTES } from './tidy-home.ts';

const OWN = '.replica';
const SKILLS = 'skills';
/** Below the folder of skills, where a rename moves a whole one into its place. */
const STAGING = '.new';
/** Names of the skills that came from a plan; others somebody has put there and may keep. */
const LIST = 'installed-skills.json';
/** Where the agents look for skills, below the home directory. */
const AGENTS = ['.claude', '.agents', '.codex', '.cursor'];
/** More skills than a plan has. */
const MAX_NAMES = 10_000;

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
  if (!removeSkills(home, [...before, STAGING])) {
    const aside = setAside(path.join(home, OWN, SKILLS));
    warnings.push(`Skills in ~/.replica/skills cannot be removed. ${describeAside(aside)}`);
  }
  for (const { slug, files } of skills) {
    attempt(`The skill ${slug} was not installed`, () => {
      installed.set(installSkill(home, { slug, files }), slug);
    });
  }
  const names = [...installed.keys()];
  const list = Buffer.from(JSON.stringify(names));
  attempt('The skills will not be removed with the next change', () =>
    writeHomeFile({ home, parts: [OWN, LIST], content: list, mode: 0o644 }),
  );
  removeSkills(home, [STAGING]);
  for (const agent of AGENTS) {
    attempt(`Skills were not linked into ~/${agent}`, () =>
      useHomeFolder(home, [agent], (folder) => linkSkills(folder, names)),
    );
  }
  return { installed: [...installed.values()], warnings };

  function attempt(failure: string, act: () => void): void {
    try {
      act();
    } catch (error) {
      const problem = placementProblem(error);
      if (problem === null) throw error;
      warnings.push(`${failure}: ${problem}.`);
    }
  }
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
  const names = readOwnJson(path.join(folder, LIST), OWN_FILE_BYTES);
  return Array.isArray(names) ? names.filter(isName).slice(0, MAX_NAMES) : [];
}

function isName(name: unknown): name is string {
  return typeof name === 'string' && /^[\w.-]+$/.test(name) && name !== '.' && name !== '..';
}

/** Says whether they are gone: folders can be too deep for that. */
function removeSkills(home: string, names: readonly string[]): boolean {
  return useHomeFolder(home, [OWN, SKILLS], (folder) => {
    try {
      for (const name of names) rmSync(path.join(folder, name), { recursive: true, force: true });
      return true;
    } catch {
      return false;
    }
  });
}

function linkSkills(folder: string, names: readonly string[]): void {
  const place = path.join(folder, SKILLS);
  const target = path.join('..', OWN, SKILLS);
  const kind = kindOf(place);
  if (kind === 'nothing') symlinkSync(target, place);
  if (kind === 'folder') linkEach(place, { target: path.join('..', target), names });
}

function linkEach(folder: string, { target, names }: { target: string; names: readonly string[] }): void {
  for (const { name } of listFolder(folder, MAX_NAMES) ?? []) {
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
