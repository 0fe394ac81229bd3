import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canIsolate } from '../world/live.ts';
import { type Fleet, launchFleet } from './fleet.ts';
import { compareLedgers } from './ledger.ts';
import { inspect, settle } from './settle.ts';

const CHATS = 10;
const MESSAGES = 20;
const TOTAL = CHATS * MESSAGES;
/** One after the other, each when another part of the messages is dealt with. */
const victims = ['engine', 'service', 'sandbox', 'engine', 'sandbox', 'service'] as const;

type MessageRow = { id: string; chat_id: string; state: string; started_at: Date | null; finished_at: Date };

describe.skipIf(!canIsolate)('queues under kills', () => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await launchFleet();
  }, 60_000);
  afterAll(() => fleet?.close(), 60_000);

  it(`of ${CHATS} chats with ${MESSAGES} messages each are worked off in order, and each message ends once`, async () => {
    const replicaId = await fleet.createReplica();
    const chats = await Promise.all(Array.from({ length: CHATS }, () => openChat(replicaId)));
    await Promise.all([...chats.map((chat) => fill(replicaId, chat)), killInTurn(replicaId)]);
    await settle(fleet);
    await inspect(fleet);

    const rows = await fleet.query<MessageRow>(
      `select id, chat_id, state, started_at, finished_at from message
        where replica_id = $1 and chat_id = any($2) order by chat_id, created_at, id`,
      [replicaId, chats],
    );
    expect(rows).toHaveLength(TOTAL);
    expect(rows.filter(({ state }) => state !== 'completed' && state !== 'failed')).toEqual([]);
    expect(rows.filter(isBeforeTheLast)).toEqual([]);
    await expectEndsOnce(replicaId, rows);
    const { completed, failed } = await compareLedgers(fleet);
    expect(completed + failed).toBe(TOTAL + 1);
    // A kill of the sandbox costs each chat the message that it works on, and no more.
    expect(failed).toBeLessThanOrEqual(victims.length * CHATS);
  }, 180_000);

  async function openChat(replicaId: string): Promise<string> {
    const made = await fleet.insist('POST', `/v1/replica/${replicaId}/chats`, { provider: 'claude' });
    expect(made.status).toBe(201);
    return made.body.id;
  }

  async function fill(replicaId: string, chat_id: string): Promise<void> {
    for (let n = 0; n < MESSAGES; n++)
      await fleet.sendMessage(replicaId, { chat_id }, (marker) => `echo ${marker} >> ~/ledger`);
  }

  async function killInTurn(replicaId: string): Promise<void> {
    for (const [index, victim] of victims.entries()) {
      await untilEnded(((index + 1) * TOTAL) / (victims.length + 2));
      if (victim === 'service') await fleet.killService();
      else {
        const [row] = await fleet.query<{ id: string }>('select id from sandbox where replica_id = $1', [
          replicaId,
        ]);
        fleet.killSandbox(row?.id ?? '', victim === 'sandbox' ? 'whole' : 'engine');
      }
    }
  }

  async function untilEnded(count: number): Promise<void> {
    const giveUpAt = performance.now() + 120_000;
    for (;;) {
      const [row] = await fleet.query<{ ended: number }>(
        "select count(*)::int as ended from message where state in ('completed', 'failed')",
      );
      if ((row?.ended ?? 0) >= count) return;
      if (performance.now() > giveUpAt)
        throw new Error(`only ${row?.ended} messages have ended\n${fleet.serviceLog().slice(-3_000)}`);
      await delay(50);
    }
  }

  /** The history and the stream tell of each message once that it was sent, and once what became of it. */
  async function expectEndsOnce(replicaId: string, rows: readonly MessageRow[]): Promise<void> {
    const said = await fleet.query<{ message_id: string; type: string; outcome: string | null }>(
      `select message_id, type, payload->>'outcome' as outcome from history_entry where replica_id = $1`,
      [replicaId],
    );
    const errors = await fleet.query<{ message_id: string }>(
      `select payload->'details'->>'messageId' as message_id from replica_event
        where replica_id = $1 and type = 'error'`,
      [replicaId],
    );
    const wrong = rows.filter(({ id, state }) => {
      const own = said.filter(({ message_id }) => message_id === id);
      const answers = own.filter(({ outcome }) => outcome === 'completed').length;
      const failures = errors.filter(({ message_id }) => message_id === id).length;
      const isSaidOnce = own.filter(({ type }) => type === 'claude-user').length === 1;
      const endsOnce = state === 'completed' ? answers === 1 && failures === 0 : failures === 1;
      return !isSaidOnce || !endsOnce;
    });
    expect(wrong).toEqual([]);
  }
});

/** Whether a message began before the one before it in its chat was over. */
function isBeforeTheLast(row: MessageRow, index: number, rows: readonly MessageRow[]): boolean {
  const before = rows[index - 1];
  if (before?.chat_id !== row.chat_id || row.started_at === null) return false;
  return row.started_at < before.finished_at;
}
