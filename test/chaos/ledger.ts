import type { Fleet } from './fleet.ts';
import { listLiving, settle } from './settle.ts';

type Sent = { id: string; chat_id: string; state: string; marker: string };

/**
 * At the end: each message that is called done was done once, none twice, and in the order of its chat. What is reported as
 * failed may have been done, but not twice and not out of its turn.
 */
export async function compareLedgers(fleet: Fleet): Promise<{ completed: number; failed: number }> {
  const counts = { completed: 0, failed: 0 };
  for (const { id } of await listLiving(fleet)) {
    const ledger = await readLedger(fleet, id);
    const sent = await listSent(fleet, id);
    counts.completed += sent.filter(({ state }) => state === 'completed').length;
    counts.failed += sent.filter(({ state }) => state !== 'completed').length;
    const known = new Set(sent.map(({ marker }) => marker));
    const strange = ledger.filter((marker) => !known.has(marker));
    if (strange.length > 0) throw new Error(`the ledger of ${id} has unknown lines: ${strange.join(' ')}`);
    for (const [chatId, ofChat] of Map.groupBy(sent, ({ chat_id }) => chat_id))
      compareChat(chatId, ofChat, ledger);
  }
  return counts;
}

function compareChat(chatId: string, sent: readonly Sent[], ledger: readonly string[]): void {
  const own = new Set(sent.map(({ marker }) => marker));
  const written = ledger.filter((marker) => own.has(marker));
  const expected = sent
    .filter(({ marker, state }) => state === 'completed' || ledger.includes(marker))
    .map(({ marker }) => marker);
  if (JSON.stringify(written) === JSON.stringify(expected)) return;
  throw new Error(
    `the ledger of chat ${chatId} is\n${written.join('\n')}\nand should be\n${expected.join('\n')}`,
  );
}

/** What the turns of a replica have written, by its canvas, which any agent can fill. */
async function readLedger(fleet: Fleet, replicaId: string): Promise<string[]> {
  const copy = 'mkdir -p ~/.replica/canvas && touch ~/ledger && cp ~/ledger ~/.replica/canvas/ledger.txt';
  await fleet.insist('POST', `/v1/replica/${replicaId}/messages`, { message: fleet.scriptOf(copy) });
  await settle(fleet);
  const item = await fleet.insist('GET', `/v1/replica/${replicaId}/canvas/ledger.txt`);
  if (item.status !== 200) throw new Error(`the ledger of ${replicaId} cannot be read: ${item.status}`);
  return Buffer.from(item.body.base64, 'base64').toString().split('\n').filter(Boolean);
}

/** The messages that were acknowledged, in the order in which they came. */
async function listSent(fleet: Fleet, replicaId: string): Promise<Sent[]> {
  const rows = await fleet.query<Omit<Sent, 'marker'>>(
    'select id, chat_id, state from message where replica_id = $1 order by created_at, id',
    [replicaId],
  );
  return rows.flatMap((row) => {
    const acknowledged = fleet.messages.find(({ messageId }) => messageId === row.id);
    return acknowledged ? [{ ...row, marker: acknowledged.marker }] : [];
  });
}
