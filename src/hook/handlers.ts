import type { hookOperations } from '../contract/hook.ts';
import type { Handlers } from '../http/handler.ts';
import { presentWarmPool } from '../warm-pool/present.ts';
import { presentHook } from './present.ts';
import type { HookService } from './service.ts';

type Operations = Omit<typeof hookOperations, `${string}Test${string}` | `test${string}`>;

export function hookHandlers(hooks: HookService): Handlers<Operations> {
  return {
    async getWarmHook({ db, caller, params }) {
      const { hook, pool } = await hooks.readWarm(db, caller, params.environmentId);
      return {
        status: 200,
        body: { warm_hook: presentHook(hook), warm_pool: pool && presentWarmPool(pool) },
      };
    },
    async saveWarmHook({ db, caller, params, body }) {
      const hook = await hooks.save(db, caller, { ...params, kind: 'warm', content: body.content });
      return { status: 201, body: { warm_hook: presentHook(hook) } };
    },
    async listWarmRepositoryHooks({ db, caller, params, signal }) {
      const found = await hooks.readOfRepositories(db, caller, { ...params, kind: 'warm', signal });
      return { status: 200, body: found };
    },
    async getStartHook({ db, caller, params }) {
      return {
        status: 200,
        body: { start_hook: presentHook(await hooks.readStart(db, caller, params.environmentId)) },
      };
    },
    async saveStartHook({ db, caller, params, body }) {
      const hook = await hooks.save(db, caller, { ...params, kind: 'start', content: body.content });
      return { status: 201, body: { start_hook: presentHook(hook) } };
    },
    async listStartRepositoryHooks({ db, caller, params, signal }) {
      const found = await hooks.readOfRepositories(db, caller, { ...params, kind: 'start', signal });
      return { status: 200, body: found };
    },
  };
}
