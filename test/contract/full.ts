import type { OperationName } from '../../src/contract/operations.ts';
import { exampleOf } from './examples.ts';
import { fill } from './fill.ts';
import type { Fixture } from './fixture.ts';
import { again, type RefusedCall } from './refusal.ts';

type Table = Parameters<typeof fill>[1];

/** A call that would add to an environment in which there is no room. */
export async function inFullEnvironment(f: Fixture, table: Table, name: OperationName): Promise<RefusedCall> {
  const { environmentId } = await ownEnvironment(f);
  await fill(f.stage.world.pool, table, { organization_id: f.org.id, environment_id: environmentId });
  return { ...(await exampleOf(name, f, 'org_key')), params: { environmentId } };
}

/** A call that would add to an organization in which there is no room. */
export async function inFullOrganization(
  f: Fixture,
  table: Table,
  name: OperationName,
  fields: object = {},
): Promise<RefusedCall> {
  const { org } = await emptyOrganization(f);
  await fill(f.stage.world.pool, table, { organization_id: org.id });
  const call = await again(f, name, { ...fields, repository_id: undefined });
  return { ...call, by: org.call };
}

export async function ownEnvironment(f: Fixture): Promise<{ environmentId: string }> {
  return { environmentId: await f.make('/v1/environments', { name: f.stage.unique('own') }) };
}

export async function emptyOrganization(f: Fixture) {
  const org = await f.stage.world.org(f.stage.unique('Organization'));
  return { org, admin: await f.stage.world.person(org, 'admin') };
}
