import type { hookOperations } from '../contract/hook.ts';
import type { Handlers } from '../http/handler.ts';
import { presentWarmPool } from '../warm-pool/present.ts';
import type { Hook, HookService } from './service.ts';

export function hookHandlers(hooks: HookService): Handlers<typeof hookOperations> {
  return {
    async getWarmHook({ db, caller, params }) {
      const { hook, pool } = await hooks.readWarm(db, caller, params.environmentId);
      return { status: 200, body: { warm_hook: present(hook), warm_pool: pool && presentWarmPool(pool) } };
    },
    async saveWarmHook({ db, caller, params, body }) {
      const hook = await hooks.save(db, caller, { ...params, kind: 'warm', content: body.content });
      return { status: 201, body: { warm_hook: present(hook) } };
    },
    async listWarmRepositoryHooks({ db, caller, params, signal }) {
      const found = await hooks.readOfRepositories(db, caller, { ...params, kind: 'warm', signal });
      return { status: 200, body: found };
    },
    async getStartHook({ db, caller, params }) {
      return {
        status: 200,
        body: { start_hook: present(await hooks.readStart(db, caller, params.environmentId)) },
      };
    },
    async saveStartHook({ db, caller, params, body }) {
      const hook = await hooks.save(db, caller, { ...params, kind: 'start', content: body.content });
      return { status: 201, body: { start_hook: present(hook) } };
    },
    async listStartRepositoryHooks({ db, caller, params, signal }) {
      const found = await hooks.readOfRepositories(db, caller, { ...params, kind: 'start', signal });
      return { status: 200, body: found };
    },
  };
}

function present(hook: Hook | null) {
  if (!hook) return null;
  return {
    id: hook.id,
    organization_id: hook.organization_id,
    environment_id: hook.environment_id,
    version: hook.version,
    content: hook.content,
    is_active: hook.is_active,
    created_at: hook.created_at.toISOString(),
  };
}
