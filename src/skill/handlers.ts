import type { skillOperations } from '../contract/skill.ts';
import type { Handlers } from '../http/handler.ts';
import type { SkillService } from './service.ts';
import type { SkillRow } from './store.ts';

export function skillHandlers(skills: SkillService): Handlers<typeof skillOperations> {
  return {
    async searchSkills({ query, signal }) {
      return { status: 200, body: { skills: await skills.search(query.q, signal) } };
    },
    async listSkills({ db, caller, params }) {
      const rows = await skills.list(db, caller, params.environmentId);
      return { status: 200, body: { environment_skills: rows.map(present) } };
    },
    async createSkill({ db, caller, params, body }) {
      const row = await skills.create(db, caller, { ...params, ...body });
      return { status: 201, body: { environment_skill: present(row) } };
    },
    async deleteSkill({ db, caller, params }) {
      await skills.remove(db, caller, params);
      return { status: 200, body: { success: true } };
    },
  };
}

function present(row: SkillRow) {
  return {
    id: row.id,
    organization_id: row.organization_id,
    environment_id: row.environment_id,
    name: row.name,
    slug: row.slug,
    source: row.source,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
