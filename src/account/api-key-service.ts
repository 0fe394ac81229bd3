import { AppError, notFound } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { type ApiKeyKind, hashApiKey, makeApiKey, prefixOf } from './api-key-format.ts';
import * as store from './api-key-store.ts';
import { lockOrganization, type Page, selectRole } from './store.ts';

type Parts = { newId: () => string; now: () => Date; randomBytes: (size: number) => Buffer };

export type ApiKeyService = ReturnType<typeof createApiKeyService>;
type Owner = store.Owner;

const MAX_KEYS = { org: 500, user: 100 } as const satisfies Record<ApiKeyKind, number>;

export function createApiKeyService({ newId, now, randomBytes }: Parts) {
  /** The key itself is in the answer and nowhere else: only its hash is stored. */
  async function create(db: Db, owner: Owner, wanted: { name: string; createdBy: string | null }) {
    const kind: ApiKeyKind = owner.personId ? 'user' : 'org';
    await lockOrganization(db, owner.organizationId);
    await requireMember(db, owner);
    if ((await store.countApiKeys(db, owner)) >= MAX_KEYS[kind]) {
      throw new AppError(
        'limit_reached',
        `There can be at most ${MAX_KEYS[kind]} of these keys; delete one first.`,
      );
    }
    const key = makeApiKey(kind, randomBytes);
    const row = await store.insertApiKey(db, {
      id: newId(),
      organization_id: owner.organizationId,
      person_id: owner.personId,
      created_by: wanted.createdBy,
      name: wanted.name,
      prefix: prefixOf(key),
      hash: hashApiKey(key),
      created_at: now(),
    });
    return { row, key };
  }

  async function list(db: Db, owner: Owner, page: Page) {
    const [rows, total] = await Promise.all([
      store.selectApiKeys(db, owner, page),
      store.countApiKeys(db, owner),
    ]);
    return { rows, total };
  }

  /** A key of another owner is as absent as one that never was. */
  async function remove(db: Db, owner: Owner, id: string): Promise<void> {
    if (!(await store.deleteApiKey(db, owner, id))) throw notFound('API key');
  }

  return { create, list, remove };
}

/** A member who is removed between sign-in and this transaction leaves no key behind. */
async function requireMember(db: Db, { organizationId, personId }: Owner): Promise<void> {
  if (personId && !(await selectRole(db, { organizationId, personId }))) {
    throw new AppError('unauthenticated', 'You are no longer a member of this organization.');
  }
}
