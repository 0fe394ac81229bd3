import type { Caller } from '../account/caller.ts';
import type { ChatService } from '../chat/service.ts';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { ReplicaRow, ReplicaService } from '../replica/service.ts';
import { enqueue } from '../work/enqueue.ts';
import { fitting, followUpText, furtherText } from './follow-up-text.ts';
import { isOver } from './is-over.ts';
import * as remarks from './remark-store.ts';
import { type PullRequestRow, selectPullRequestById } from './store.ts';

type Parts = {
  db: Db;
  replicas: Pick<ReplicaService, 'lock' | 'request'>;
  chats: Pick<ChatService, 'send' | 'amendQueued'>;
  now: () => Date;
};

export const FOLLOW_UP_TASK = 'pull_request.follow_up';

const DAY_MS = 86_400_000;
/** Messages about one pull request in a day of UTC; what is said beyond that is told the next day. */
export const MAX_MESSAGES_A_DAY = 20;
/** What a message holds of what was said. */
const MAX_MESSAGE_BYTES = 65_536;
/** How soon what does not fit into a message that waits is looked at again. */
const FULL_PAUSE_MS = 60_000;
const ATTEMPTS = 8;

/**
 * Tells agents what was said of their pull requests: all that waits goes into one message. While that one is queued,
 * what is said further is added to it.
 */
export function createFollowUps({ db, replicas, chats, now }: Parts) {
  async function tell(pullRequestId: string): Promise<void> {
    await transact(db, async (tx) => {
      const known = await selectPullRequestById(tx, pullRequestId);
      const row = known && (await replicas.lock(tx, known.replica_id));
      const pull = row && (await selectPullRequestById(tx, pullRequestId));
      if (pull && !isOver(row)) await fold(tx, row, pull);
    });
  }

  async function fold(tx: Db, row: ReplicaRow, pull: PullRequestRow): Promise<void> {
    const waiting = await withoutOwn(tx, row, await remarks.selectWaiting(tx, pull.id));
    if (pull.state !== 'open') return remarks.deleteRemarks(tx, idsOf(waiting));
    const taken = fitting(waiting, MAX_MESSAGE_BYTES);
    if (taken.length === 0) return;
    const today = new Date(Math.floor(now().getTime() / DAY_MS) * DAY_MS);
    const put = await addToQueued(tx, row, { pull, taken });
    if (put === 'full') return requestFollowUp(tx, pull.id, new Date(now().getTime() + FULL_PAUSE_MS));
    if (put === 'gone') {
      const sent = await remarks.selectMessagesSince(tx, { pullRequestId: pull.id, since: today });
      if (sent.length >= MAX_MESSAGES_A_DAY)
        return requestFollowUp(tx, pull.id, new Date(today.getTime() + DAY_MS));
      const message = followUpText(pull, taken);
      const wanted = { id: row.id, isStrict: false, message };
      const { messageId } = await chats.send(tx, serviceItself(row), wanted);
      await remarks.carryRemarks(tx, idsOf(taken), messageId);
    }
    // What did not fit is added to the message while it waits, or becomes the next one.
    if (taken.length < waiting.length) await requestFollowUp(tx, pull.id, now());
  }

  async function addToQueued(
    tx: Db,
    row: ReplicaRow,
    { pull, taken }: { pull: PullRequestRow; taken: remarks.RemarkRow[] },
  ): Promise<'added' | 'full' | 'gone'> {
    const since = new Date(0);
    const [messageId] = await remarks.selectMessagesSince(tx, { pullRequestId: pull.id, since });
    if (messageId === undefined) return 'gone';
    const text = furtherText(taken);
    const put = await chats.amendQueued(tx, row, { messageId, text, maxBytes: 2 * MAX_MESSAGE_BYTES });
    if (put !== 'added') return put;
    await remarks.carryRemarks(tx, idsOf(taken), messageId);
    // The replica may have been put to sleep, or have failed to wake, since the message was sent.
    await replicas.request(tx, row, 'wake');
    return put;
  }

  /** A host may tell of a comment before whoever made it has heard that it is made. */
  async function withoutOwn(
    tx: Db,
    row: ReplicaRow,
    waiting: remarks.RemarkRow[],
  ): Promise<remarks.RemarkRow[]> {
    const urls = waiting.filter(({ kind }) => kind !== 'check').map(({ key }) => key);
    const own = await remarks.selectOwnComments(tx, { replicaId: row.id, urls });
    const isOwn = ({ kind, key }: remarks.RemarkRow) => kind !== 'check' && own.has(key);
    await remarks.deleteRemarks(tx, idsOf(waiting.filter(isOwn)));
    return waiting.filter((remark) => !isOwn(remark));
  }

  return { tell };
}

/** Adds the job that tells what waits. A later time never puts off one that waits already. */
export async function requestFollowUp(db: Db, pullRequestId: string, runAt: Date): Promise<void> {
  await enqueue(db, {
    name: FOLLOW_UP_TASK,
    payload: { pull_request_id: pullRequestId },
    key: `${FOLLOW_UP_TASK}:${pullRequestId}`,
    keyMode: 'preserve_run_at',
    runAt,
    maxAttempts: ATTEMPTS,
  });
}

function serviceItself({ organization_id: organizationId }: ReplicaRow): Caller {
  return { organizationId, kind: 'org_key', keyId: null, personId: null, role: 'member' };
}

function idsOf(rows: readonly { id: string }[]): string[] {
  return rows.map(({ id }) => id);
}
