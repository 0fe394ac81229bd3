import type { Caller } from '../account/caller.ts';
import type { Db } from '../db/database.ts';
import type { EnvironmentService } from '../environment/service.ts';
import type { RepositoryService } from '../repository/service.ts';
import type { WarmPool, WarmPoolService } from '../warm-pool/service.ts';
import { type RepositoryHooks, readRepositoryHooks } from './repository-hooks.ts';
import * as store from './store.ts';

type Parts = {
  environments: Pick<EnvironmentService, 'find' | 'hold'>;
  warmPools: Pick<WarmPoolService, 'bumpIfChanged' | 'read'>;
  repositories: Pick<RepositoryService, 'boundRepositories' | 'refresh'>;
  newId: () => string;
  now: () => Date;
};

export type Hook = store.HookRow;
type HookKind = store.HookKind;
export type HookService = ReturnType<typeof createHookService>;

export function createHookService({ environments, warmPools, repositories, newId, now }: Parts) {
  async function readWarm(
    db: Db,
    caller: Caller,
    environmentId: string,
  ): Promise<{ hook: Hook | null; pool: WarmPool | null }> {
    const environment = await environments.find(db, caller, environmentId);
    const hook = await store.selectActive(db, { environmentId: environment.id, kind: 'warm' });
    return { hook: hook ?? null, pool: await warmPools.read(db, environment) };
  }

  async function readStart(db: Db, caller: Caller, environmentId: string): Promise<Hook | null> {
    const environment = await environments.find(db, caller, environmentId);
    return (await store.selectActive(db, { environmentId: environment.id, kind: 'start' })) ?? null;
  }

  /** The active hooks of several environments at once, for who has found them in their organization. */
  function ofEnvironments(db: Db, environmentIds: readonly string[]): Promise<Hook[]> {
    return store.selectActiveOf(db, environmentIds);
  }

  /**
   * Makes `content` the active version; the one before stays on record. Holding the environment lets saves come one
   * after the other, so that versions have no gap and one hook is active at a time.
   */
  async function save(
    db: Db,
    caller: Pick<Caller, 'organizationId'>,
    wanted: { environmentId: string; kind: HookKind; content: string },
  ): Promise<Hook | null> {
    const environment = await environments.hold(db, caller, wanted.environmentId);
    const key = { environmentId: environment.id, kind: wanted.kind };
    const active = await store.selectActive(db, key);
    await store.deactivate(db, key);
    const isCleared = wanted.content.trim() === '';
    // A start hook runs at boot and is not part of what a warm workspace has baked in.
    if (wanted.kind === 'warm') {
      const change = { before: active?.content ?? null, after: isCleared ? null : wanted.content };
      await warmPools.bumpIfChanged(db, environment, change);
    }
    if (isCleared) return null;
    return store.insertHook(db, {
      id: newId(),
      organization_id: environment.organization_id,
      environment_id: environment.id,
      kind: wanted.kind,
      version: (await store.selectLastVersion(db, key)) + 1,
      content: wanted.content,
      is_active: true,
      created_at: now(),
    });
  }

  /**
   * The hooks that the configuration files of the bound repositories bring along, as they stand now when the git host
   * answers in time. Runs outside of a transaction, because it waits for the host.
   */
  async function readOfRepositories(
    db: Db,
    caller: Caller,
    wanted: { environmentId: string; kind: HookKind; signal: AbortSignal },
  ): Promise<RepositoryHooks> {
    const environment = await environments.find(db, caller, wanted.environmentId);
    const bound = await repositories.boundRepositories(db, environment);
    const repositoryIds = bound.map(({ id }) => id);
    const read = await repositories.refresh(db, caller, { repositoryIds, signal: wanted.signal });
    return readRepositoryHooks(read, wanted.kind);
  }

  return { readWarm, readStart, ofEnvironments, save, readOfRepositories };
}
