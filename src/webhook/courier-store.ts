import { sql } from 'kysely';
import type { WebhookEventType } from '../contract/webhook.ts';
import type { Db } from '../db/database.ts';

/** A delivery that a process has taken, with all that an attempt needs. */
export type TakenDelivery = {
  id: string;
  organization_id: string;
  replica_id: string;
  url: string;
  origin: string;
  /** Those that have ended. */
  attempts: number;
  /** Until when it is taken; nobody else has taken it as long as this stands in the row. */
  lease: Date;
  event_id: string;
  event_type: WebhookEventType;
  body: string;
  sealed_secret: Buffer | null;
};

export type EndedAttempt = {
  delivery: Pick<TakenDelivery, 'id' | 'replica_id' | 'lease'>;
  startedAt: Date;
  durationMs: number;
  status: number | null;
  error: string | null;
  /** What becomes of the delivery, and when its next attempt is due. */
  state: 'delivered' | 'failed' | 'pending';
  dueAt: Date;
  at: Date;
};

type Wanted = {
  at: Date;
  leaseUntil: Date;
  /** What this process has on its way. */
  busy: readonly Pick<TakenDelivery, 'id' | 'origin' | 'organization_id'>[];
  room: number;
  perOrigin: number;
  perOrganization: number;
};

/**
 * Takes deliveries that are due, of each receiver and organization no more than there is room for, and first those of
 * organizations that have the least on their way. A receiver that several organizations have is one for each of them. What
 * this process has on its way is not taken again, also when its clock has jumped over the lease. The walk jumps from
 * receiver to receiver in the index, so one with many deliveries costs as much as one with few.
 */
export async function takeDue(db: Db, wanted: Wanted): Promise<TakenDelivery[]> {
  const { at, busy } = wanted;
  const { rows } = await sql<TakenDelivery>`
    with recursive receiver (origin, organization_id) as (
      (select origin, organization_id from webhook_delivery
        where state = 'pending' and due_at is not null order by origin, organization_id limit 1)
      union all
      select next.origin, next.organization_id
        from receiver
       cross join lateral (
         select origin, organization_id from webhook_delivery
          where state = 'pending' and due_at is not null
            and (origin, organization_id) > (receiver.origin, receiver.organization_id)
          order by origin, organization_id limit 1
       ) as next
    ),
    busy as (
      select * from unnest(${busy.map(({ origin }) => origin)}::text[],
                           ${busy.map(({ organization_id }) => organization_id)}::uuid[]) as busy (origin, organization_id)
    ),
    busy_receiver as (select origin, organization_id, count(*) from busy group by origin, organization_id),
    busy_organization as (select organization_id, count(*) from busy group by organization_id),
    due as (
      select head.*, row_number() over (partition by head.organization_id order by head.due_at, head.seq) as place
        from receiver
        left join busy_receiver as busy using (origin, organization_id)
       cross join lateral (
         select id, organization_id, due_at, seq from webhook_delivery
          where state = 'pending' and origin = receiver.origin and organization_id = receiver.organization_id
            and due_at <= ${at} and id <> all (${busy.map(({ id }) => id)}::uuid[])
          order by due_at, seq
          limit greatest(${wanted.perOrigin} - coalesce(busy.count, 0), 0)
       ) as head
    ),
    taken as (
      select id from webhook_delivery
       where id in (
         select due.id from due
           left join busy_organization as busy using (organization_id)
          where due.place <= ${wanted.perOrganization} - coalesce(busy.count, 0)
          order by due.place + coalesce(busy.count, 0), due.due_at, due.seq
          limit ${wanted.room}
       )
         -- Another process may have been faster.
         and state = 'pending' and due_at <= ${at}
         for update skip locked
    )
    update webhook_delivery as delivery
       set due_at = ${wanted.leaseUntil}
      from taken, webhook_event as event, replica
     where delivery.id = taken.id and event.id = delivery.webhook_event_id and replica.id = delivery.replica_id
    returning delivery.id, delivery.organization_id, delivery.replica_id, delivery.url, delivery.origin,
              delivery.attempts, delivery.due_at as lease, event.id as event_id, event.type as event_type, event.body,
              replica.webhook_secret as sealed_secret`.execute(db);
  return rows;
}

/** When the next delivery is due that is not due at this moment; null when none waits. */
export async function selectNextDue(db: Db, at: Date): Promise<Date | null> {
  const row = await db
    .selectFrom('webhook_delivery')
    .select('due_at')
    .where('state', '=', sql.lit('pending'))
    .where('due_at', '>', at)
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst();
  return row?.due_at ?? null;
}

/** Notes how attempts ended, and lets the next delivery follow. One that has gone over to somebody else changes nothing. */
export async function recordAttempts(db: Db, ended: readonly EndedAttempt[]): Promise<void> {
  if (ended.length === 0) return;
  await noteEnds(db, ended);
  const over = ended.filter(({ state }) => state !== 'pending');
  await sql`
    update webhook_delivery as delivery
       set due_at = ${over[0]?.at ?? null}
      from unnest(${over.map(({ delivery }) => delivery.replica_id)}::uuid[]) as replica (id)
     where delivery.id = (select first.id from webhook_delivery as first
                           where first.replica_id = replica.id and first.state = 'pending' order by first.seq limit 1)
       and delivery.due_at is null`.execute(db);
}

/**
 * Lets deliveries follow whose predecessor ended in the moment in which they were added, so that neither who ended the
 * one nor who added the other knew that it is due. The walk jumps from replica to replica in the index.
 */
export async function letFollow(db: Db, at: Date): Promise<void> {
  const next = (after: ReturnType<typeof sql>) => sql`
    (select replica_id from webhook_delivery where state = 'pending' and replica_id > ${after}
      order by replica_id limit 1)`;
  await sql`
    with recursive waiting (replica_id) as (
      select ${next(sql`'00000000-0000-0000-0000-000000000000'::uuid`)}
      union all
      select ${next(sql`waiting.replica_id`)} from waiting where waiting.replica_id is not null
    )
    update webhook_delivery as delivery
       set due_at = ${at}
      from waiting
     where delivery.id = (select first.id from webhook_delivery as first
                           where first.replica_id = waiting.replica_id and first.state = 'pending'
                           order by first.seq limit 1)
       and delivery.due_at is null`.execute(db);
}

async function noteEnds(db: Db, ended: readonly EndedAttempt[]): Promise<void> {
  await sql`
    with ended as (
      select * from unnest(
        ${ended.map(({ delivery }) => delivery.id)}::uuid[],
        ${ended.map(({ delivery }) => delivery.lease)}::timestamptz[],
        ${ended.map(({ startedAt }) => startedAt)}::timestamptz[],
        ${ended.map(({ durationMs }) => durationMs)}::integer[],
        ${ended.map(({ status }) => status)}::integer[],
        ${ended.map(({ error }) => error)}::text[],
        ${ended.map(({ state }) => state)}::text[],
        ${ended.map(({ dueAt }) => dueAt)}::timestamptz[],
        ${ended.map(({ state, at }) => (state === 'pending' ? null : at))}::timestamptz[]
      ) as ended (id, lease, started_at, duration_ms, status, error, state, due_at, finished_at)
    ),
    changed as (
      update webhook_delivery as delivery
         set attempts = delivery.attempts + 1, state = ended.state, due_at = ended.due_at,
             finished_at = ended.finished_at
        from ended
       where delivery.id = ended.id and delivery.state = 'pending' and delivery.due_at = ended.lease
      returning delivery.id, delivery.attempts
    )
    insert into webhook_attempt (webhook_delivery_id, number, started_at, duration_ms, status, error)
    select changed.id, changed.attempts, ended.started_at, ended.duration_ms, ended.status, ended.error
      from changed join ended on ended.id = changed.id`.execute(db);
}

/** Lets deliveries be taken by somebody else at once. */
export async function giveBack(
  db: Db,
  { taken, at }: { taken: readonly Pick<TakenDelivery, 'id' | 'lease'>[]; at: Date },
): Promise<void> {
  if (taken.length === 0) return;
  await sql`
    update webhook_delivery as delivery
       set due_at = ${at}
      from unnest(${taken.map(({ id }) => id)}::uuid[], ${taken.map(({ lease }) => lease)}::timestamptz[])
        as taken (id, lease)
     where delivery.id = taken.id and delivery.state = 'pending' and delivery.due_at = taken.lease`.execute(
    db,
  );
}
