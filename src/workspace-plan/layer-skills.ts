import type { BootPlan } from '../engine/protocol.ts';
import { untaken } from './folder-name.ts';
import { listed } from './listed.ts';
import { skillLimits } from './skill-folder.ts';
import { lastPart } from './skill-slug.ts';

export type SkillCandidate = {
  slug: string;
  /** Higher wins. */
  layer: number;
  /** Where it comes from, for a sentence. */
  origin: string;
  files: BootPlan['skills'][number]['files'];
  bytes: number;
};

/**
 * One skill for each slug: that of the highest layer, and within a layer the first. Each gets a folder of its own,
 * of one part, because agents look no deeper.
 */
export function layerSkills(candidates: readonly SkillCandidate[]): {
  skills: BootPlan['skills'];
  problems: string[];
} {
  const chosen = new Map<string, SkillCandidate>();
  const doubled = new Map<string, string[]>();
  const leftOut: string[] = [];
  let total = 0;
  for (const candidate of candidates.toSorted((a, b) => b.layer - a.layer)) {
    const { slug, origin, bytes } = candidate;
    const first = chosen.get(slug);
    if (first?.layer === candidate.layer) doubled.set(origin, [...(doubled.get(origin) ?? []), slug]);
    if (first) continue;
    if (total + bytes > skillLimits.totalBytes) {
      leftOut.push(slug);
      continue;
    }
    total += bytes;
    chosen.set(slug, candidate);
  }
  return {
    skills: placed([...chosen.values()]),
    problems: [
      ...[...doubled].map(describeDoubled),
      ...(leftOut.length > 0 ? [describeLeftOut(leftOut)] : []),
    ],
  };
}

function placed(chosen: readonly SkillCandidate[]): BootPlan['skills'] {
  const taken = new Set<string>();
  const skills = chosen.map(({ slug, files }) => {
    const short = lastPart(slug);
    const folder = taken.has(short) ? untaken(slug.replaceAll('/', '-'), taken) : short;
    taken.add(folder);
    return { slug: folder, files };
  });
  return skills.sort((a, b) => (a.slug < b.slug ? -1 : 1));
}

function describeDoubled([origin, slugs]: [string, string[]]): string {
  return `Of ${origin}, ${listed(slugs)} is left out, because another skill of the environment has the same name.`;
}

function describeLeftOut(slugs: string[]): string {
  return `The skills hold more than 16 MiB together, so ${listed(slugs)} is left out.`;
}
