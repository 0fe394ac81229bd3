import type { Caller } from '../account/caller.ts';
import { AppError, notFound } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { refusing } from '../db/violation.ts';
import type { EnvironmentService } from '../environment/service.ts';
import type { Sealer } from '../secret/seal.ts';
import { sealedContext } from '../secret/sealed-columns.ts';
import type { WarmPoolService } from '../warm-pool/service.ts';
import * as store from './store.ts';

type Parts = {
  environments: Pick<EnvironmentService, 'find' | 'hold'>;
  warmPools: Pick<WarmPoolService, 'bump' | 'bumpIfChanged'>;
  sealer: Sealer;
  newId: () => string;
  now: () => Date;
};

/** A variable with its value in clear. */
export type Variable = Omit<store.VariableRow, 'value'> & { value: string };
export type VariableService = ReturnType<typeof createVariableService>;

const MAX_VARIABLES = 500;
/** All values of an environment together: more would not fit into a process's environment, nor well into an answer. */
const MAX_TOTAL_BYTES = 1_048_576;

export function createVariableService({ environments, warmPools, sealer, newId, now }: Parts) {
  async function list(db: Db, caller: Caller, environmentId: string): Promise<Variable[]> {
    const environment = await environments.find(db, caller, environmentId);
    return (await store.selectVariables(db, environment.id)).map(open);
  }

  /** Of several environments at once, in clear, for who has found them in their organization. */
  async function ofEnvironments(db: Db, environmentIds: readonly string[]): Promise<Variable[]> {
    return (await store.selectVariablesOf(db, environmentIds)).map(open);
  }

  async function create(
    db: Db,
    caller: Caller,
    wanted: { environmentId: string; key: string; value: string },
  ): Promise<Variable> {
    const environment = await environments.hold(db, caller, wanted.environmentId);
    const existing = await store.selectVariables(db, environment.id);
    if (existing.length >= MAX_VARIABLES) {
      throw new AppError(
        'limit_reached',
        `An environment has at most ${MAX_VARIABLES} variables; delete one first.`,
      );
    }
    requireRoom(existing, wanted.value);
    const id = newId();
    const row = {
      id,
      organization_id: caller.organizationId,
      environment_id: environment.id,
      key: wanted.key,
      value: seal(id, wanted.value),
      created_at: now(),
      updated_at: now(),
    };
    const made = await refusing(keyTaken(wanted.key), () => store.insertVariable(db, row));
    await warmPools.bump(db, environment);
    return open(made);
  }

  async function update(
    db: Db,
    caller: Caller,
    wanted: { environmentId: string; id: string; key?: string; value?: string },
  ): Promise<Variable> {
    const environment = await environments.hold(db, caller, wanted.environmentId);
    const row = await find(db, environment.id, wanted.id);
    if (wanted.value !== undefined) {
      const others = await store.selectVariables(db, environment.id);
      requireRoom(
        others.filter((other) => other.id !== row.id),
        wanted.value,
      );
    }
    // Only what was given is written: a value read here may have been sealed anew in the meantime.
    const changes = {
      ...(wanted.key !== undefined && { key: wanted.key }),
      ...(wanted.value !== undefined && { value: seal(row.id, wanted.value) }),
      updated_at: now(),
    };
    const changed = await refusing(keyTaken(wanted.key ?? row.key), () =>
      store.updateVariable(db, row.id, changes),
    );
    const [before, after] = [open(row), open(changed)];
    await warmPools.bumpIfChanged(db, environment, { before: baked(before), after: baked(after) });
    return after;
  }

  async function remove(
    db: Db,
    caller: Caller,
    wanted: { environmentId: string; id: string },
  ): Promise<void> {
    const environment = await environments.hold(db, caller, wanted.environmentId);
    const row = await find(db, environment.id, wanted.id);
    await store.deleteVariable(db, row.id);
    await warmPools.bump(db, environment);
  }

  async function find(db: Db, environmentId: string, id: string): Promise<store.VariableRow> {
    const row = await store.selectVariable(db, { environmentId, id });
    if (!row) throw notFound('Variable');
    return row;
  }

  const seal = (id: string, value: string) => sealer.seal(value, context(id));
  const open = (row: store.VariableRow): Variable => ({
    ...row,
    value: sealer.open(row.value, context(row.id)),
  });

  return { list, ofEnvironments, create, update, remove };
}

/** Sealed values are a little longer than what they hold, which is close enough for a limit. */
function requireRoom(others: store.VariableRow[], value: string): void {
  const total = others.reduce((sum, other) => sum + other.value.length, Buffer.byteLength(value));
  if (total <= MAX_TOTAL_BYTES) return;
  throw new AppError(
    'limit_reached',
    'The variables of an environment hold at most 1 MiB together; shorten or delete some.',
  );
}

const context = (id: string) => sealedContext('environment_variable', 'value', id);

const keyTaken = (key: string) => ({
  environment_variable_key_key: () =>
    new AppError('already_exists', `The environment already has a variable "${key}"; change it with PATCH.`),
});

/** What of a variable is part of a workspace. */
const baked = ({ key, value }: Variable) => ({ key, value });
