import type { Caller } from '../account/caller.ts';
import type { Db } from '../db/database.ts';
import type { Size } from '../runtime/size.ts';
import type { WarmPoolService } from '../warm-pool/service.ts';
import * as store from './store.ts';

type Parts = {
  warmPools: Pick<WarmPoolService, 'resize'>;
  /** The operator's, for organizations that have set none. */
  defaultSize: Size;
  now: () => Date;
};
export type SandboxTier = { size: Size; isDefault: boolean };
export type SandboxTierService = ReturnType<typeof createSandboxTierService>;

/** The size of sandboxes for which nobody names one. */
export function createSandboxTierService({ warmPools, defaultSize, now }: Parts) {
  async function read(db: Db, { organizationId }: Pick<Caller, 'organizationId'>): Promise<SandboxTier> {
    const size = await store.selectSize(db, organizationId);
    // The check constraint of the column allows nothing else.
    return { size: (size as Size | null) ?? defaultSize, isDefault: size === null };
  }

  return {
    read,
    tierOf: async (db: Db, organizationId: string): Promise<Size> =>
      (await read(db, { organizationId })).size,

    /** Null goes back to the operator's default. */
    async set(db: Db, { organizationId }: Caller, size: Size | null): Promise<SandboxTier> {
      if (size === null) await store.deleteSize(db, organizationId);
      else await store.upsertSize(db, { organizationId, size, at: now() });
      await warmPools.resize(db, organizationId, size ?? defaultSize);
      return { size: size ?? defaultSize, isDefault: size === null };
    },
  };
}
