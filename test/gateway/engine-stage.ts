import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, request as send } from 'node:http';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { newId } from '../../src/lib/ids.ts';
import type { ReplicaState } from '../../src/replica/lifecycle.ts';
import { insertReplica } from '../chat/replica-row.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';

export type EngineStage = Awaited<ReturnType<typeof startEngineStage>>;
export type StagedSandbox = Awaited<ReturnType<EngineStage['sandbox']>>;
type Wanted = {
  state?: ReplicaState;
  incarnation?: number;
  environmentId?: string | null;
  repositories?: string[];
};
type Call = { method: string; path: string; body?: Buffer | string; headers?: Record<string, string> };
export type EngineAnswer = { status: number; body: Buffer };

/** A whole service, and sandboxes that exist for it alone: the test speaks in the place of their engines. */
export async function startEngineStage(environment: Record<string, string> = {}) {
  const world = await startWorld({ environment });
  const org = await world.org();
  const socketPath = path.join(world.folder, 'runtime', 'gateway', 'gateway.sock');
  // A host that is always there, so that nobody acts in its place.
  const hostId = newId();
  await world.db.insertInto('runtime_host').values({ id: hostId, seen_at: '9999-01-01' }).execute();

  return {
    world,
    org,
    socketPath,
    sandbox: (wanted: Wanted = {}) => insertSandbox({ world, org, hostId, socketPath }, wanted),
    close: () => world.close(),
  };
}

async function insertSandbox(
  stage: { world: World; org: Organization; hostId: string; socketPath: string },
  { state = 'active', incarnation = 1, environmentId = null, repositories = [] }: Wanted,
) {
  const { db } = stage.world;
  const secret = `rs_engine_${randomBytes(32).toString('base64url')}`;
  const sandboxId = newId();
  const bootId = newId();
  const replicaId = await insertReplica(db, {
    organizationId: stage.org.id,
    state,
    sandbox_id: sandboxId,
    host_id: stage.hostId,
  });
  await db.updateTable('replica').set({ boot_id: bootId }).where('id', '=', replicaId).execute();
  await db
    .insertInto('sandbox')
    .values({
      id: sandboxId,
      organization_id: stage.org.id,
      environment_id: environmentId,
      replica_id: replicaId,
      purpose: 'replica',
      host_id: stage.hostId,
      secret: Buffer.from('not opened'),
      secret_hash: createHash('sha256').update(secret).digest(),
      size: 'small',
      incarnation,
      created_at: new Date(),
    })
    .execute();
  for (const [position, id] of repositories.entries()) {
    const name = `repository-${position}`;
    const url = `https://example.com/${name}`;
    await db
      .insertInto('replica_repository')
      .values({ replica_id: replicaId, repository_id: id, position, name, url, updated_at: new Date() })
      .execute();
  }

  let seq = 0;
  const numbered = (reports: readonly object[]) =>
    reports.map((report) => ({ seq: ++seq, at: new Date().toISOString(), ...report }));
  const open = ({ method, path: target, headers }: Omit<Call, 'body'>) =>
    send({
      socketPath: stage.socketPath,
      method,
      path: target,
      agent: false,
      headers: { authorization: `Bearer ${secret}`, ...headers },
    });

  async function call({ body, ...rest }: Call): Promise<EngineAnswer> {
    const outgoing = open(rest);
    outgoing.end(body);
    return answerOf(outgoing);
  }

  /** Sends a batch as it is; JSON that `JSON.stringify` cannot write comes as text. */
  const post = (batch: object | string) =>
    call({
      method: 'POST',
      path: '/engine/events',
      body: typeof batch === 'string' ? batch : JSON.stringify(batch),
    });

  return {
    replicaId,
    sandboxId,
    bootId,
    secret,
    call,
    post,
    /** Reports with the numbers that follow. */
    report: (...reports: object[]) => post({ incarnation, events: numbered(reports) }),
    /** Begins a request whose body does not come to an end; whoever began it ends it. */
    begin(request: Omit<Call, 'body'>): ClientRequest {
      const outgoing = open(request);
      outgoing.on('error', () => {});
      outgoing.flushHeaders();
      return outgoing;
    },
    replica: () => db.selectFrom('replica').selectAll().where('id', '=', replicaId).executeTakeFirstOrThrow(),
    acked: async () => {
      const row = await db
        .selectFrom('sandbox')
        .select('acked_seq')
        .where('id', '=', sandboxId)
        .executeTakeFirstOrThrow();
      return Number(row.acked_seq);
    },
    events: () =>
      db
        .selectFrom('replica_event')
        .select(['type', 'payload'])
        .where('replica_id', '=', replicaId)
        .orderBy('seq')
        .execute(),
  };
}

export async function answerOf(outgoing: ClientRequest): Promise<EngineAnswer> {
  // A server that has heard enough closes the connection under a body that is still being sent.
  outgoing.on('error', () => {});
  const [response] = await once(outgoing, 'response');
  return { status: response.statusCode, body: await buffer(response) };
}
