import type { skillRegistryOperations } from '../contract/skill-registry.ts';
import type { Handlers } from '../http/handler.ts';
import { presentRegistry, presentRepoSkills } from './present.ts';
import type { RegistryRow, SkillRegistryService } from './service.ts';

export function skillRegistryHandlers(
  registries: SkillRegistryService,
): Handlers<typeof skillRegistryOperations> {
  return {
    async listSkillRegistries({ db, caller, params }) {
      const rows = await registries.list(db, caller, params.environmentId);
      return { status: 200, body: { registries: rows.map(presentRegistry) } };
    },
    async createSkillRegistry({ db, caller, params, body }) {
      const row = await registries.create(db, caller, { ...params, ...body });
      return {
        status: 200,
        body: answer(row),
        settle: async (pool, signal) => answer(await registries.settled(pool, row.id, signal)),
      };
    },
    async deleteSkillRegistry({ db, caller, params }) {
      await registries.remove(db, caller, params);
      return { status: 200, body: { success: true } };
    },
    async listRepoSkills({ db, caller, params, signal }) {
      const bound = await registries.readBound(db, caller, { ...params, signal });
      return { status: 200, body: presentRepoSkills(bound) };
    },
  };
}

function answer(row: RegistryRow) {
  const registry = presentRegistry(row);
  return { registry, repo_skills: registry.repo_skills, error: registry.error };
}
