import { createHash, randomBytes } from 'node:crypto';
import type { Db } from '../../src/db/database.ts';
import { newId } from '../../src/lib/ids.ts';
import type { ReplicaState } from '../../src/replica/lifecycle.ts';
import { insertReplica } from '../chat/replica-row.ts';
import type { Stage } from './stage.ts';

type Owner = { organizationId: string; replicaId: string };

/** A replica of which nothing is there but its row. */
export function placeReplica(
  { world, quietHostId }: Stage,
  placed: { organizationId: string; state: ReplicaState; hostId?: string },
): Promise<string> {
  const { hostId = quietHostId, ...wanted } = placed;
  return insertReplica(world.db, { ...wanted, host_id: hostId });
}

/** A replica with one of each thing that can be read of it. It is being prepared, so its messages wait. */
export async function makeReplica(stage: Stage, organizationId: string) {
  const { db } = stage.world;
  const replicaId = await placeReplica(stage, { organizationId, state: 'preparing' });
  const owner = { organizationId, replicaId };
  const { chatId, messageIds } = await insertChat(db, owner, 2);
  await insertHookRun(db, owner);
  const at = new Date();
  const item = { filename: 'plan.md', size_bytes: 6, content: Buffer.from('# Plan'), updated_at: at };
  await db
    .insertInto('canvas_item')
    .values({ replica_id: replicaId, ...item })
    .execute();
  const contact = { host: 'example.com', port: 443, is_allowed: true, times: 2, first_at: at, last_at: at };
  await db
    .insertInto('egress_contact')
    .values({ replica_id: replicaId, ...contact })
    .execute();
  const step = { step: 'sandbox', incarnation: 1, started_at: at, duration_ms: 12.34, outcome: 'done' };
  await db
    .insertInto('replica_step')
    .values({ id: newId(), replica_id: replicaId, ...step })
    .execute();
  const said = { at, type: 'user', payload: JSON.stringify({ text: 'hello' }) };
  await db
    .insertInto('history_entry')
    .values({ replica_id: replicaId, chat_id: chatId, message_id: messageIds[0] ?? null, ...said })
    .execute();
  await insertPreviews(db, replicaId, [previewPort]);
  return { replicaId, chatId, messageId: messageIds.at(-1) ?? '' };
}

/** The port that every replica with previews has. */
export const previewPort = 3000;

/** A chat of a replica with messages in its queue. */
export async function insertChat(
  db: Db,
  { organizationId, replicaId }: Owner,
  queued: number,
): Promise<{ chatId: string; messageIds: string[] }> {
  const chatId = newId();
  const at = new Date();
  const of = { organization_id: organizationId, replica_id: replicaId };
  await db
    .insertInto('chat')
    .values({ id: chatId, ...of, provider: 'claude', created_at: at, updated_at: at })
    .execute();
  const messageIds = Array.from({ length: queued }, () => newId());
  const messages = messageIds.map((id, index) => ({
    ...of,
    id,
    chat_id: chatId,
    position: index + 1,
    state: 'queued',
    text: 'hello',
    created_at: at,
  }));
  if (queued > 0) await db.insertInto('message').values(messages).execute();
  return { chatId, messageIds };
}

export async function insertPreviews(db: Db, replicaId: string, ports: readonly number[]): Promise<void> {
  await db
    .insertInto('preview')
    .values(ports.map((port) => ({ replica_id: replicaId, port, created_at: new Date() })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** A sandbox of a replica, of which nothing is there but its row; gives the secret with which its engine speaks. */
export async function insertEngine(
  { world, quietHostId }: Stage,
  { organizationId, replicaId }: Owner,
): Promise<string> {
  const secret = `rs_engine_${randomBytes(32).toString('base64url')}`;
  await world.db
    .insertInto('sandbox')
    .values({
      id: newId(),
      organization_id: organizationId,
      replica_id: replicaId,
      purpose: 'replica',
      host_id: quietHostId,
      secret: Buffer.from('not opened'),
      secret_hash: createHash('sha256').update(secret).digest(),
      size: 'small',
      created_at: new Date(),
    })
    .execute();
  return secret;
}

async function insertHookRun(db: Db, { organizationId, replicaId }: Owner): Promise<void> {
  const id = newId();
  const at = new Date();
  await db
    .insertInto('hook_run')
    .values({
      id,
      organization_id: organizationId,
      replica_id: replicaId,
      sandbox_id: newId(),
      phase: 'start',
      type: 'environment',
      name: 'environment',
      commands: ['make'],
      position: 0,
      status: 'running',
      output: 'all:\n',
      output_chars: 5,
      output_seq: 1,
      executed_at: at,
      created_at: at,
    })
    .execute();
  await db.insertInto('hook_output').values({ hook_run_id: id, seq: 1, text: 'all:\n' }).execute();
}

/** A delivery of an event of the fixture's replica, after one attempt; what is pending is not due for long. */
export async function insertDelivery(
  { stage, org, replicaId }: { stage: Stage; org: { id: string }; replicaId: string },
  state: 'pending' | 'delivered' | 'failed',
): Promise<string> {
  const { db } = stage.world;
  const [id, eventId, at] = [newId(), newId(), new Date()];
  const of = { organization_id: org.id, replica_id: replicaId, created_at: at };
  await db
    .insertInto('webhook_event')
    .values({ ...of, id: eventId, type: 'replica.ready', body: '{}' })
    .execute();
  const { origin } = new URL(stage.receiverUrl);
  const due = state === 'pending' ? { due_at: '2100-01-01' } : { due_at: at, finished_at: at };
  await db
    .insertInto('webhook_delivery')
    .values({
      ...of,
      ...due,
      id,
      webhook_event_id: eventId,
      url: stage.receiverUrl,
      origin,
      state,
      attempts: 1,
    })
    .execute();
  const status = state === 'delivered' ? 200 : 503;
  await db
    .insertInto('webhook_attempt')
    .values({ webhook_delivery_id: id, number: 1, started_at: at, duration_ms: 12, status })
    .execute();
  return id;
}
