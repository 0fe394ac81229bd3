import type { z } from 'zod';
import type { Caller } from '../account/caller.ts';
import { AppError, notFound } from '../contract/error.ts';
import type { repositorySetOperations } from '../contract/repository-set.ts';
import type { Db } from '../db/database.ts';
import { refusing } from '../db/violation.ts';
import type { WarmPoolService } from '../warm-pool/service.ts';
import * as store from './set-store.ts';
import { shareRepositories } from './store.ts';

type CreateBody = z.output<(typeof repositorySetOperations.createRepositorySet)['body']>;
type UpdateBody = z.output<(typeof repositorySetOperations.updateRepositorySet)['body']>;
type Parts = { warmPools: Pick<WarmPoolService, 'bump'>; newId: () => string; now: () => Date };

/** A set with its repositories in order. */
export type RepositorySet = store.RepositorySetRow & { repositories: store.SetMember[] };
export type RepositorySetService = ReturnType<typeof createRepositorySetService>;

const MAX_SETS = 500;

export function createRepositorySetService({ warmPools, newId, now }: Parts) {
  async function list(db: Db, caller: Caller): Promise<RepositorySet[]> {
    return withMembers(db, await store.selectSets(db, caller.organizationId));
  }

  async function read(db: Db, caller: Caller, id: string): Promise<RepositorySet> {
    const row = await store.selectSet(db, { organizationId: caller.organizationId, id });
    const [set] = await withMembers(db, row ? [row] : []);
    if (!set) throw notFound('Repository set');
    return set;
  }

  async function create(db: Db, caller: Caller, body: CreateBody): Promise<RepositorySet> {
    await requireRepositories(db, caller, body.repository_ids);
    if ((await store.countSets(db, caller.organizationId)) >= MAX_SETS) {
      throw new AppError(
        'limit_reached',
        `An organization has at most ${MAX_SETS} repository sets; delete one first.`,
      );
    }
    const row = {
      id: newId(),
      organization_id: caller.organizationId,
      name: body.name,
      description: body.description ?? null,
      created_at: now(),
      updated_at: now(),
    };
    await refusing(nameTaken(body.name), () => store.insertSet(db, row));
    await store.replaceMembers(db, row.id, body.repository_ids);
    return read(db, caller, row.id);
  }

  async function update(
    db: Db,
    caller: Caller,
    change: { id: string; body: UpdateBody },
  ): Promise<RepositorySet> {
    const row = await store.lockSetToChange(db, { organizationId: caller.organizationId, id: change.id });
    if (!row) throw notFound('Repository set');
    const { name = row.name, description = row.description, repository_ids } = change.body;
    await refusing(nameTaken(name), () =>
      store.updateSet(db, row.id, { name, description, updated_at: now() }),
    );
    if (repository_ids) await changeMembers(db, caller, { setId: row.id, repositoryIds: repository_ids });
    return read(db, caller, row.id);
  }

  async function changeMembers(
    db: Db,
    caller: Caller,
    change: { setId: string; repositoryIds: readonly string[] },
  ): Promise<void> {
    const before = (await store.selectMembers(db, [change.setId])).map((member) => member.id);
    if (before.join() === change.repositoryIds.join()) return;
    await requireRepositories(db, caller, change.repositoryIds);
    await store.replaceMembers(db, change.setId, change.repositoryIds);
    for (const environment of await store.selectBoundEnvironments(db, change.setId)) {
      await warmPools.bump(db, environment);
    }
  }

  async function remove(db: Db, caller: Caller, id: string): Promise<void> {
    const row = await store.lockSetToDelete(db, { organizationId: caller.organizationId, id });
    if (!row) throw notFound('Repository set');
    const [environment] = await store.selectBoundEnvironments(db, row.id);
    if (environment) {
      throw new AppError(
        'repository_in_use',
        `The environment "${environment.name}" is bound to this repository set; bind it to something else first.`,
      );
    }
    await store.deleteSet(db, row.id);
  }

  return { list, read, create, update, remove };
}

async function withMembers(db: Db, rows: store.RepositorySetRow[]): Promise<RepositorySet[]> {
  if (rows.length === 0) return [];
  const members = Map.groupBy(
    await store.selectMembers(
      db,
      rows.map((row) => row.id),
    ),
    (member) => member.repository_set_id,
  );
  return rows.map((row) => ({ ...row, repositories: members.get(row.id) ?? [] }));
}

async function requireRepositories(db: Db, caller: Caller, ids: readonly string[]): Promise<void> {
  const found = await shareRepositories(db, { organizationId: caller.organizationId, ids });
  if (found.length !== ids.length) throw notFound('Repository');
}

const nameTaken = (name: string) => ({
  repository_set_name_key: () =>
    new AppError('already_exists', `A repository set named "${name}" already exists.`),
});
