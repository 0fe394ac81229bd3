import { createHash } from 'node:crypto';
import type { Db } from '../db/database.ts';
import type { BootPlan } from '../engine/protocol.ts';
import type { Git } from '../git/git.ts';
import type { GitRemote } from '../git/remote.ts';
import { type GitUrl, GitUrlError, parseGitUrl } from '../git/url.ts';
import type { RepositoryService } from '../repository/service.ts';
import type { SkillRow } from '../skill/service.ts';
import type { RegistrySource } from '../skill-registry/service.ts';
import { layerBy } from './layer.ts';
import { layerSkills, type SkillCandidate } from './layer-skills.ts';
import { listed, quoted } from './listed.ts';
import type { SkillPick } from './match-skill.ts';
import { readPickedSkills, readRegistrySkills } from './read-skills.ts';
import type { SkillOrder, SkillShelf, TakenSkills } from './skill-shelf.ts';
import { parseSkillSource } from './skill-source.ts';

type Parts = {
  repositories: Pick<RepositoryService, 'remoteByUrl'>;
  git: Pick<Git, 'tree'>;
  shelf: Pick<SkillShelf, 'take'>;
  catalogUrl: string;
  repositoryHost: string;
  allowPrivateTargets: boolean;
  now: () => Date;
};

type Wanted = {
  organizationId: string;
  /** Skills of the catalog and registries of each environment, the lowest layer first. */
  skills: readonly (readonly SkillRow[])[];
  registries: readonly (readonly RegistrySource[])[];
  signal: AbortSignal;
};

/** Picked skills that lie in one repository. */
type Group = { url: GitUrl; branch: string | null; picks: (SkillPick & { layer: number })[] };

/** What one repository is asked for, and what becomes of the answer. */
type Errand = {
  order: SkillOrder;
  collect(taken: TakenSkills): { candidates: SkillCandidate[]; problems: string[] };
};

/** Nothing tells that a repository of the catalog has moved, so it is looked at again after a while. */
const FRESH_MS = 15 * 60_000;

export function createSkillGatherer(parts: Parts) {
  const { repositories, git, shelf, catalogUrl, repositoryHost, allowPrivateTargets, now } = parts;

  /** The skills of a workspace. What cannot be read in time is a problem and nothing more. */
  async function gather(db: Db, wanted: Wanted): Promise<{ skills: BootPlan['skills']; problems: string[] }> {
    const { groups, problems } = groupBySource(wanted.skills);
    const errands = [
      ...groups.map((group) => errandOfGroup(db, wanted.organizationId, group)),
      ...wanted.registries.flatMap((layer, index) => layer.map((row) => errandOfRegistry(db, row, index))),
    ];
    const collected = await Promise.all(
      errands.map(async ({ order, collect }) => collect(await shelf.take(order, wanted.signal))),
    );
    // Skills that were picked one by one come before those that a registry brings along.
    const layered = layerSkills(collected.flatMap(({ candidates }) => candidates));
    return {
      skills: layered.skills,
      problems: [...problems, ...collected.flatMap((one) => one.problems), ...layered.problems],
    };
  }

  /** Picked skills by the repository they lie in, so that each is asked once. */
  function groupBySource(layers: Wanted['skills']): { groups: Group[]; problems: string[] } {
    const groups = new Map<string, Group>();
    const problems: string[] = [];
    const rows = layerBy(
      layers.map((rows, layer) => rows.map((row) => ({ ...row, layer }))),
      ({ slug }) => slug,
    );
    for (const { slug, name, source, layer } of rows) {
      try {
        const found = parseSkillSource(source, { catalogUrl, repositoryHost });
        if (!found) throw new GitUrlError('its source names no git repository.');
        const { branch, folder } = found;
        const url = parseGitUrl(found.url, { allowPrivateTargets });
        const key = JSON.stringify([url.key, branch]);
        const group = groups.get(key) ?? { url, branch, picks: [] };
        group.picks.push({ slug, name, folder, layer });
        groups.set(key, group);
      } catch (error) {
        if (!(error instanceof GitUrlError)) throw error;
        problems.push(`The skill ${quoted(name)} is left out: ${error.message}`);
      }
    }
    return { groups: [...groups.values()], problems };
  }

  function errandOfGroup(db: Db, organizationId: string, { url, branch, picks }: Group): Errand {
    const layers = new Map(picks.map(({ slug, layer }) => [slug, layer]));
    const names = listed(picks.map(({ name }) => name));
    const bare = picks.map(({ slug, name, folder }) => ({ slug, name, folder }));
    const order: SkillOrder = {
      key: keyOf(['catalog', organizationId, url.key, branch, bare]),
      organizationId,
      judge: ({ readAt }) => (now().getTime() - readAt.getTime() < FRESH_MS ? 'current' : 'stale'),
      url: url.url,
      findRemote: () => findRemote(db, { organizationId, url: url.url, urlKey: url.key }),
      read: async (remote, signal) => {
        const tree = await git.tree(remote, { signal, ...(branch !== null && { branch }) });
        return readPickedSkills(tree, { name: url.name, picks: bare });
      },
    };
    return {
      order,
      collect: (taken) => ({
        candidates: candidatesOf(taken, (slug) => ({ layer: layers.get(slug) ?? 0, origin: 'the catalog' })),
        problems: problemsOf(taken, names),
      }),
    };
  }

  function errandOfRegistry(db: Db, row: RegistrySource, layer: number): Errand {
    const { organization_id: organizationId, url, url_key: urlKey, name } = row;
    const origin = `the registry ${row.repository_full_name}`;
    const order: SkillOrder = {
      key: keyOf(['registry', organizationId, urlKey]),
      organizationId,
      // What was read after a scan is at least as new as what the scan has seen.
      judge: ({ commit, readAt }) =>
        commit === row.head_commit || row.scanned_at === null || readAt >= row.scanned_at
          ? 'current'
          : 'outdated',
      url,
      findRemote: () => findRemote(db, { organizationId, url, urlKey }),
      read: async (remote, signal) =>
        readRegistrySkills(await git.tree(remote, { signal }), { name, origin }),
    };
    return {
      order,
      collect: (taken) => ({
        candidates: candidatesOf(taken, () => ({ layer, origin })),
        problems: problemsOf(taken, `of ${origin}`),
      }),
    };
  }

  /** With the credential of the organization's own repository, when it has connected this one. */
  async function findRemote(
    db: Db,
    wanted: { organizationId: string; url: string; urlKey: string },
  ): Promise<GitRemote> {
    const connected = await repositories.remoteByUrl(db, wanted);
    return connected ? connected.openRemote() : { url: wanted.url };
  }

  return { gather };
}

function candidatesOf(
  { reading }: TakenSkills,
  placeOf: (slug: string) => Pick<SkillCandidate, 'layer' | 'origin'>,
): SkillCandidate[] {
  return (reading?.skills ?? []).map((skill) => ({ ...skill, ...placeOf(skill.slug) }));
}

function problemsOf({ reading, problem }: TakenSkills, what: string): string[] {
  const problems = reading?.problems ?? [];
  if (problem === null) return problems;
  return [...problems, `The skills ${what} ${reading ? 'may be old' : 'are missing'}: ${problem}`];
}

function keyOf(parts: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}
