import type { Caller } from '../account/caller.ts';
import { AppError, notFound } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { refusing } from '../db/violation.ts';
import type { EnvironmentService } from '../environment/service.ts';
import type { WarmPoolService } from '../warm-pool/service.ts';
import type { SkillCatalog } from './catalog.ts';
import type { CatalogSkill } from './catalog-answer.ts';
import * as store from './store.ts';

type Parts = {
  environments: Pick<EnvironmentService, 'find' | 'hold'>;
  warmPools: Pick<WarmPoolService, 'bump'>;
  catalog: Pick<SkillCatalog, 'search'>;
  newId: () => string;
  now: () => Date;
};

export type { SkillRow } from './store.ts';
export type SkillService = ReturnType<typeof createSkillService>;

const MAX_SKILLS = 500;

export function createSkillService({ environments, warmPools, catalog, newId, now }: Parts) {
  function search(query: string, signal: AbortSignal): Promise<CatalogSkill[]> {
    return catalog.search(query, signal);
  }

  async function list(db: Db, caller: Caller, environmentId: string): Promise<store.SkillRow[]> {
    const environment = await environments.find(db, caller, environmentId);
    return store.selectSkills(db, environment.id);
  }

  /** Of several environments at once, for who has found them in their organization. */
  function ofEnvironments(db: Db, environmentIds: readonly string[]): Promise<store.SkillRow[]> {
    return store.selectSkillsOf(db, environmentIds);
  }

  async function create(
    db: Db,
    caller: Caller,
    wanted: { environmentId: string; name: string; slug: string; source: string },
  ): Promise<store.SkillRow> {
    const environment = await environments.hold(db, caller, wanted.environmentId);
    const existing = await store.selectSkills(db, environment.id);
    if (existing.length >= MAX_SKILLS) {
      throw new AppError(
        'limit_reached',
        `An environment has at most ${MAX_SKILLS} skills; disable one first.`,
      );
    }
    const row = {
      id: newId(),
      organization_id: caller.organizationId,
      environment_id: environment.id,
      name: wanted.name,
      slug: wanted.slug,
      source: wanted.source,
      created_at: now(),
      updated_at: now(),
    };
    const made = await refusing(alreadyEnabled(wanted), () => store.insertSkill(db, row));
    await warmPools.bump(db, environment);
    return made;
  }

  async function remove(
    db: Db,
    caller: Caller,
    wanted: { environmentId: string; id: string },
  ): Promise<void> {
    const environment = await environments.hold(db, caller, wanted.environmentId);
    const isDeleted = await store.deleteSkill(db, { environmentId: environment.id, id: wanted.id });
    if (!isDeleted) throw notFound('Skill');
    await warmPools.bump(db, environment);
  }

  return { search, list, ofEnvironments, create, remove };
}

const alreadyEnabled = ({ slug, source }: { slug: string; source: string }) => ({
  environment_skill_slug_key: () =>
    new AppError('already_exists', `A skill with the slug "${slug}" is already enabled in this environment.`),
  environment_skill_source_key: () =>
    new AppError(
      'already_exists',
      `A skill with the source "${source}" is already enabled in this environment.`,
    ),
});
