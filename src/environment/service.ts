import type { z } from 'zod';
import type { Caller } from '../account/caller.ts';
import type { environmentOperations } from '../contract/environment.ts';
import { AppError, notFound } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { refusing } from '../db/violation.ts';
import type { RepositoryService } from '../repository/service.ts';
import type { WarmPoolService } from '../warm-pool/service.ts';
import * as store from './store.ts';

type CreateBody = z.output<(typeof environmentOperations.createEnvironment)['body']>;
type UpdateBody = z.output<(typeof environmentOperations.updateEnvironment)['body']>;
type Parts = {
  repositories: Pick<RepositoryService, 'requireBinding'>;
  warmPools: Pick<WarmPoolService, 'create' | 'bump'>;
  newId: () => string;
  now: () => Date;
};

type ReplicaOrigin = {
  environment_id?: string | undefined;
  repository_set_id?: string | undefined;
  repository_ids?: string[] | undefined;
};

export type EnvironmentService = ReturnType<typeof createEnvironmentService>;

const MAX_ENVIRONMENTS = 1_000;

export function createEnvironmentService(parts: Parts) {
  const { repositories, warmPools, newId, now } = parts;

  /** The environment a path names; `global` is made on first use. Absent and foreign are one 404. */
  async function find(
    db: Db,
    caller: Pick<Caller, 'organizationId'>,
    environmentId: string,
  ): Promise<store.EnvironmentRow> {
    if (environmentId === 'global') return findGlobal(db, caller.organizationId);
    const row = await store.selectEnvironment(db, {
      organizationId: caller.organizationId,
      id: environmentId,
    });
    if (!row) throw notFound('Environment');
    return row;
  }

  /** Finds an environment to change it or what is attached to it: other changes wait, and it cannot go meanwhile. */
  async function hold(
    db: Db,
    caller: Pick<Caller, 'organizationId'>,
    environmentId: string,
  ): Promise<store.EnvironmentRow> {
    const { id } = await find(db, caller, environmentId);
    const row = await store.lockEnvironment(db, { organizationId: caller.organizationId, id });
    if (!row) throw notFound('Environment');
    return row;
  }

  async function findGlobal(db: Db, organizationId: string): Promise<store.EnvironmentRow> {
    const row = await store.selectGlobal(db, organizationId);
    if (row) return row;
    const at = now();
    const fresh = {
      id: newId(),
      organization_id: organizationId,
      name: 'Global',
      created_at: at,
      updated_at: at,
    };
    await store.insertGlobal(db, fresh);
    const made = await store.selectGlobal(db, organizationId);
    if (!made) throw new Error('the Global environment is absent right after it was made');
    return made;
  }

  /** The environment a new replica is made from: the one that is named, or the first one bound to what is named. */
  async function forReplica(db: Db, caller: Caller, wanted: ReplicaOrigin): Promise<store.EnvironmentRow> {
    if (wanted.environment_id) return find(db, caller, wanted.environment_id);
    const { repository_set_id, repository_ids = [] } = wanted;
    if (!repository_set_id && repository_ids.length === 0) {
      throw new AppError(
        'invalid_request',
        'Pass environment_id, or one of the deprecated repository_set_id and repository_ids.',
      );
    }
    await repositories.requireBinding(db, caller, { repository_set_id: repository_set_id ?? null });
    for (const id of repository_ids) await repositories.requireBinding(db, caller, { repository_id: id });
    const row = await store.selectFirstBound(db, {
      organizationId: caller.organizationId,
      setId: repository_set_id ?? null,
      repositoryIds: repository_ids,
    });
    if (!row)
      throw new AppError(
        'not_found',
        'No environment is bound to that repository or repository set; create one.',
      );
    return row;
  }

  /**
   * What a workspace of an environment is made from, the lowest layer first: the Global environment as far as there
   * is one, then the named one unless it is gone.
   */
  function layers(
    db: Db,
    key: { organizationId: string; environmentId: string | null },
  ): Promise<store.EnvironmentRow[]> {
    return store.selectLayers(db, key);
  }

  async function list(db: Db, caller: Caller) {
    await findGlobal(db, caller.organizationId);
    return store.selectCounted(db, { organizationId: caller.organizationId });
  }

  async function read(db: Db, caller: Caller, environmentId: string) {
    const id = environmentId === 'global' ? (await findGlobal(db, caller.organizationId)).id : environmentId;
    const [row] = await store.selectOneCounted(db, { organizationId: caller.organizationId, id });
    if (!row) throw notFound('Environment');
    return row;
  }

  async function create(db: Db, caller: Caller, body: CreateBody) {
    await repositories.requireBinding(db, caller, body);
    // The Global environment comes first, so that its name is taken before anybody else can take it.
    await findGlobal(db, caller.organizationId);
    if ((await store.countEnvironments(db, caller.organizationId)) >= MAX_ENVIRONMENTS) {
      throw new AppError(
        'limit_reached',
        `An organization has at most ${MAX_ENVIRONMENTS} environments; delete one first.`,
      );
    }
    const id = newId();
    const row = { ...body, id, organization_id: caller.organizationId, created_at: now(), updated_at: now() };
    await refusing(nameTaken(body.name), () => store.insertEnvironment(db, row));
    await warmPools.create(db, { organizationId: caller.organizationId, environmentId: id, enabled: true });
    return read(db, caller, id);
  }

  async function update(db: Db, caller: Caller, change: { environmentId: string; body: UpdateBody }) {
    const row = await hold(db, caller, change.environmentId);
    if (row.is_global) {
      throw new AppError(
        'global_environment_immutable',
        "The Global environment's metadata cannot be edited.",
      );
    }
    const changes = { ...change.body, ...rebinding(row, change.body) };
    const isRebound = changesBinding(row, changes);
    if (isRebound) {
      await repositories.requireBinding(db, caller, changes);
      if (await store.isUsedByAutomation(db, row.id)) {
        throw new AppError(
          'environment_in_use',
          'An automation uses this environment, so its repository binding cannot change.',
        );
      }
    }
    await refusing(nameTaken(change.body.name ?? row.name), () =>
      store.updateEnvironment(db, row.id, { ...changes, updated_at: now() }),
    );
    if (isRebound) await warmPools.bump(db, row);
    return read(db, caller, row.id);
  }

  async function remove(db: Db, caller: Caller, environmentId: string): Promise<void> {
    const row = await hold(db, caller, environmentId);
    if (row.is_global) {
      throw new AppError('global_environment_undeletable', 'The Global environment cannot be deleted.');
    }
    await refusing(
      {
        automation_environment_id_fkey: () =>
          new AppError(
            'environment_in_use',
            'An automation uses this environment; delete the automation first.',
          ),
      },
      () => store.deleteEnvironment(db, row.id),
    );
  }

  return { find, hold, forReplica, layers, list, read, create, update, remove };
}

const nameTaken = (name: string) => ({
  environment_name_key: () =>
    new AppError('already_exists', `An environment named "${name}" already exists.`),
});

/** Giving one kind of binding replaces the other, as they exclude each other. */
function rebinding(row: store.EnvironmentRow, body: UpdateBody): Partial<UpdateBody> {
  if (body.repository_id && row.repository_set_id) return { repository_set_id: null };
  if (body.repository_set_id && row.repository_id) return { repository_id: null };
  return {};
}

function changesBinding(row: store.EnvironmentRow, changes: UpdateBody): boolean {
  const { repository_id = row.repository_id, repository_set_id = row.repository_set_id } = changes;
  return repository_id !== row.repository_id || repository_set_id !== row.repository_set_id;
}
