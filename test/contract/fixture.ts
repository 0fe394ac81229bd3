import { newId } from '../../src/lib/ids.ts';
import { type ApiAnswer, type ApiCall, caller, type Organization } from '../world/world.ts';
import type { Who } from './call.ts';
import { insertEngine, makeReplica, placeReplica } from './replica-fixture.ts';
import type { Stage } from './stage.ts';

/**
 * An organization with one of each thing. What workers would make or change is put straight into the database, and
 * everything else is made through the API.
 */
export type Fixture = Awaited<ReturnType<typeof makeFixture>>;

export async function makeFixture(stage: Stage) {
  const { world } = stage;
  const org = await world.org(stage.unique('Organization'));
  const admin = await world.person(org, 'admin');
  const member = await world.person(org, 'member');
  const personalKey = await member.personalKey();
  const insideId = await placeReplica(stage, { organizationId: org.id, state: 'active' });
  const secret = await insertEngine(stage, { organizationId: org.id, replicaId: insideId });
  const callers: Record<Who, ApiCall> = {
    org_key: org.call,
    personal_key: personalKey.call,
    member: member.call,
    admin: admin.call,
    engine: caller(world.url, secret),
    nobody: world.call,
  };
  const make = maker(org, callers);

  const globalId = (await org.call('GET', '/v1/environments/global')).body.environment.id as string;
  const credentialId = await make('/v1/repository-credentials', { name: 'token', token: 'secret' });
  const url = await stage.repositoryUrl();
  const repositoryId = await make('/v1/repositories', { name: 'app', url, credential_id: credentialId });
  const repositorySetId = await make('/v1/repository-sets', {
    name: 'all',
    repository_ids: [repositoryId],
  });
  const environmentId = await make('/v1/environments', { name: 'web', repository_id: repositoryId });
  const plainEnvironmentId = await make('/v1/environments', { name: 'plain' });
  const inEnvironment = (path: string, body: unknown) =>
    make(`/v1/environments/${environmentId}/${path}`, body);
  const source = 'https://catalog.example/acme/pdf';
  return {
    stage,
    org,
    admin,
    member,
    callers,
    make,
    personalKeyId: personalKey.id,
    orgKeyId: await make('/v1/organization/api-keys', { name: 'spare' }, 'admin'),
    invitationId: await make('/v1/organization/invitations', { email: 'b@example.com' }, 'admin'),
    globalId,
    credentialId,
    repositoryId,
    repositorySetId,
    environmentId,
    /** An environment with nothing in it, in which replicas and tests start soon. */
    plainEnvironmentId,
    /** The replica whose engine is one of the callers. */
    insideId,
    ...(await makeReplica(stage, org.id)),
    ...(await makeWarmWorkspace(stage, org, plainEnvironmentId)),
    automationId: await make('/v1/automations', {
      name: 'nightly',
      prompt: 'Say hello.',
      environment_id: plainEnvironmentId,
      triggers: [{ type: 'cron', config: { schedule: '0 0 1 1 *' } }],
    }),
    liveReplica: once(() => makeLiveReplica(make, plainEnvironmentId)),
    variableId: await inEnvironment('variables', { key: 'COLOR', value: 'blue' }),
    fileId: await inEnvironment('files', { name: 'notes', path: '~/notes.md', content: '# Notes' }),
    skillId: await inEnvironment('skills', { name: 'PDF', slug: 'acme/pdf', source }),
    registryId: await inEnvironment('skills-registries', { url: await stage.repositoryUrl() }),
    mcpId: await inEnvironment('mcps', { name: 'files', transport: 'stdio', config: { command: 'files' } }),
    hookIds: [
      await inEnvironment('warm-hooks/save', { content: 'make' }),
      await inEnvironment('start-hooks/save', { content: 'make start' }),
    ],
  };
}

/** Makes a thing and returns its id. The org key does it, unless the path is for people only. */
function maker(org: Organization, callers: Record<Who, ApiCall>) {
  return async function make(path: string, body: unknown, as: Who = 'org_key'): Promise<string> {
    const answer = await (as === 'org_key' ? org.call : callers[as])('POST', path, body);
    if (answer.status > 201) throw new Error(`POST ${path} failed: ${JSON.stringify(answer.body)}`);
    return idIn(answer);
  };
}

/** A workspace that a replica has taken, which is the end of its preparation. */
async function makeWarmWorkspace({ world }: Stage, org: Organization, environmentId: string) {
  const path = `/v1/environments/${environmentId}/warm-pools`;
  const { body } = await org.call('PUT', path, { enabled: false });
  const [warmPoolId, warmWorkspaceId, at] = [body.warm_pool.id as string, newId(), new Date()];
  const row = { organization_id: org.id, warm_pool_id: warmPoolId, status: 'assigned', generation: 1 };
  await world.db
    .insertInto('warm_pool_workspace')
    .values({ id: warmWorkspaceId, ...row, created_at: at, updated_at: at })
    .execute();
  return { warmPoolId, warmWorkspaceId };
}

/** A replica that is active, with an engine that answers, and a terminal in which something was typed. */
async function makeLiveReplica(make: ReturnType<typeof maker>, environmentId: string) {
  const body = { name: 'live', message: 'hello', environment_id: environmentId };
  const id = await make('/v1/replica', body);
  const terminalId = await make(`/v1/workspaces/${id}/terminals`, {});
  await make(`/v1/workspaces/${id}/terminals/${terminalId}/input`, { data: 'hello' });
  return { id, terminalId };
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | null = null;
  return () => {
    result ??= work();
    return result;
  };
}

function idIn({ body }: ApiAnswer): string {
  const things = [body, ...Object.values(body as Record<string, unknown>)];
  const made = things.find((thing) => typeof thing === 'object' && thing !== null && 'id' in thing);
  return (made as { id: string } | undefined)?.id ?? '';
}
