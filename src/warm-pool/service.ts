import { isDeepStrictEqual } from 'node:util';
import type { Db } from '../db/database.ts';
import * as store from './store.ts';

type Parts = {
  newId: () => string;
  now: () => Date;
  /** Ready workspaces each pool aims at. */
  targetSize: number;
};
type Environment = { id: string; organization_id: string; is_global: boolean };

/** A pool as it stands: its row, what is in it, and the size it aims at. */
export type WarmPool = store.WarmPoolRow & store.WarmPoolCounts & { target_size: number };
export type WarmPoolService = ReturnType<typeof createWarmPoolService>;

export function createWarmPoolService({ newId, now, targetSize }: Parts) {
  async function create(
    db: Db,
    wanted: { organizationId: string; environmentId: string; enabled: boolean },
  ): Promise<void> {
    await store.insertPool(db, fresh(wanted));
  }

  /**
   * Notes that what is baked into warm workspaces has changed. The caller holds the environment. The Global
   * environment is part of every workspace, so a change of it reaches all pools of the organization.
   */
  async function bump(db: Db, environment: Environment): Promise<void> {
    if (environment.is_global) await store.bumpOfOrganization(db, environment.organization_id, now());
    else await store.bumpOfEnvironment(db, environment.id, now());
  }

  /** Notes a change, unless what is baked in is afterwards what it was before. */
  async function bumpIfChanged(
    db: Db,
    environment: Environment,
    { before, after }: { before: unknown; after: unknown },
  ): Promise<void> {
    if (!isDeepStrictEqual(before, after)) await bump(db, environment);
  }

  /** Notes that the head of a repository has moved. */
  async function bumpRepository(db: Db, repositoryId: string): Promise<void> {
    await store.bumpOfRepository(db, repositoryId, now());
  }

  /** Notes that warm workspaces of the organization are to have another size. */
  async function resize(db: Db, organizationId: string, size: string): Promise<void> {
    await store.resizeOfOrganization(db, { organizationId, size, at: now() });
  }

  /** The pool of an environment, null when it never had one. */
  async function read(db: Db, environment: Pick<Environment, 'id'>): Promise<WarmPool | null> {
    const row = await store.selectCounted(db, environment.id);
    return row ? { ...row, target_size: targetSize } : null;
  }

  /** Switches a pool on or off, and makes it when the environment has none. */
  async function setEnabled(db: Db, environment: Environment, enabled: boolean): Promise<WarmPool> {
    await store.upsertPool(
      db,
      fresh({ organizationId: environment.organization_id, environmentId: environment.id, enabled }),
    );
    const pool = await read(db, environment);
    if (!pool) throw new Error('the warm pool is absent right after it was made');
    return pool;
  }

  function fresh(wanted: { organizationId: string; environmentId: string; enabled: boolean }) {
    const at = now();
    return {
      id: newId(),
      organization_id: wanted.organizationId,
      environment_id: wanted.environmentId,
      enabled: wanted.enabled,
      created_at: at,
      updated_at: at,
    };
  }

  return { create, bump, bumpIfChanged, bumpRepository, resize, read, setEnabled };
}
