import { createHash } from 'node:crypto';
import type { Db } from '../db/database.ts';
import type { Remark } from '../git-event/event.ts';
import { byteLength, truncateBytes } from '../lib/text.ts';
import type { ReplicaRow } from '../replica/service.ts';
import { requestFollowUp } from './follow-up.ts';
import { countWaiting, insertRemark, selectOwnComments } from './remark-store.ts';
import type { PullRequestRow } from './store.ts';

type Parts = {
  /** How long remarks are gathered before they are told. */
  followUpDelayMs: number;
  newId: () => string;
  now: () => Date;
};

/** What waits for one pull request; who says more in so short a time is not listened to. */
const MAX_WAITING = 200;
const MAX_TEXT_BYTES = 8_192;
/** What fits into an index. */
const MAX_KEY_BYTES = 1_000;

export type Remarks = ReturnType<typeof createRemarks>;

/** What is said of tracked pull requests, kept until it is told to the agent. Whoever calls this holds the replica. */
export function createRemarks({ followUpDelayMs, newId, now }: Parts) {
  /** `commit` is what a check ran on. */
  return async function keep(
    db: Db,
    row: ReplicaRow,
    { pull, remark, commit }: { pull: PullRequestRow; remark: Remark; commit: string | null },
  ): Promise<void> {
    if (pull.state !== 'open' || !hasFollowUps(row)) return;
    const isOld = commit !== null && pull.head_commit !== null && commit !== pull.head_commit;
    if (remark.kind === 'check' && isOld) return;
    const urls = remark.url === null ? [] : [remark.url];
    if ((await selectOwnComments(db, { replicaId: row.id, urls })).size > 0) return;
    if ((await countWaiting(db, pull.id)) >= MAX_WAITING) return;
    const at = now();
    const isNew = await insertRemark(db, {
      id: newId(),
      replica_pull_request_id: pull.id,
      kind: remark.kind,
      key: keyOf(remark.key),
      text: textOf(remark),
      at,
    });
    if (isNew) await requestFollowUp(db, pull.id, new Date(at.getTime() + followUpDelayMs));
  };
}

/** What runs by itself is left alone unless it asks for follow-ups. */
function hasFollowUps({ config, source }: Pick<ReplicaRow, 'config' | 'source'>): boolean {
  const { capabilities } = (config ?? {}) as { capabilities?: { pr_followups?: unknown } };
  const wish = capabilities?.pr_followups;
  return typeof wish === 'boolean' ? wish : source !== 'automation';
}

function textOf({ text, url }: Remark): string {
  const said = truncateBytes(text.replaceAll('\0', '').toWellFormed(), MAX_TEXT_BYTES);
  return url === null ? said : `${said}\n\n${url}`;
}

function keyOf(key: string): string {
  const storable = key.replaceAll('\0', '').toWellFormed();
  if (byteLength(storable) <= MAX_KEY_BYTES) return storable;
  return createHash('sha256').update(storable).digest('hex');
}
