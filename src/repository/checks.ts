/*
 * Checks of repositories, as the database sees them. A check is asked for by giving it a number and adding a job in
 * one transaction. The job reads the number, talks to the git host without any transaction, and reports; the report
 * settles that number and every earlier one. So a waiter knows that the answer is newer than its question, a job that
 * was delivered twice has nothing left to do, and a report that comes late, or that speaks of another credential or
 * branch than the present one, changes nothing.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '../account/caller.ts';
import type { Db, Tx } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { GitCredential } from '../git/environment.ts';
import type { RepositoryCredentialService } from '../repository-credential/service.ts';
import type { WarmPoolService } from '../warm-pool/service.ts';
import { enqueue } from '../work/enqueue.ts';
import * as store from './check-store.ts';
import { type RepositoryContent, type RepositoryReading, selectContents } from './content-store.ts';
import type { RepositoryRow } from './store.ts';

type Parts = {
  credentials: Pick<RepositoryCredentialService, 'open'>;
  warmPools: Pick<WarmPoolService, 'bumpRepository'>;
  now: () => Date;
};

export type CheckResult =
  | { outcome: 'failed'; error: string; cause?: unknown }
  | { outcome: 'unchanged' }
  | { outcome: 'read'; reading: RepositoryReading };

export const CHECK_TASK = 'repository.check';

const CHECK_ATTEMPTS = 3;
const CHECK_LANES = 4;
/** A check this recent answers a reader. */
const FRESH_MS = 10_000;
const REFRESH_WAIT_MS = 8_000;
const DUE_AFTER_MS = 5 * 60_000;
const DUE_BATCH = 500;
/** Checks that are due together start over this stretch, which is shorter than the time to the next batch. */
const DUE_SPREAD_MS = 45_000;

export function createRepositoryChecks({ credentials, warmPools, now }: Parts) {
  /** Asks for a check in the transaction of `db`, and shows the repository as `checking`. */
  async function request(db: Db, id: string): Promise<RepositoryRow> {
    const row = await store.announceCheck(db, id);
    await enqueueCheck(db, row);
    return row;
  }

  /** Waits until the checks that were asked for have ended, or the time is over. */
  async function settled(
    db: Db,
    asked: readonly { id: string; checks_requested: number }[],
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  ): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    let waiting = asked;
    for (let pauseMs = 20; waiting.length > 0; pauseMs = Math.min(pauseMs * 1.5, 250)) {
      const progress = await store.selectProgress(db, { ids: waiting.map(({ id }) => id) });
      const settledNumbers = new Map(progress.map((row) => [row.id, row.checks_settled]));
      // What is gone from the table has nothing left to wait for.
      waiting = waiting.filter((one) => (settledNumbers.get(one.id) ?? Infinity) < one.checks_requested);
      if (waiting.length === 0 || performance.now() + pauseMs > deadline) return;
      await delay(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }

  /**
   * The repositories in the order of `repositoryIds`, each checked within the last seconds when its host answers in
   * time, else as it was last read. Runs outside of a transaction, because it waits for jobs.
   */
  async function refresh(
    db: Db,
    caller: Caller,
    wanted: { repositoryIds: readonly string[]; signal: AbortSignal },
  ): Promise<RepositoryContent[]> {
    const scope = { organizationId: caller.organizationId, ids: wanted.repositoryIds };
    const newerThan = now().getTime() - FRESH_MS;
    const stale = (await store.selectProgress(db, scope)).filter(
      (row) => isPending(row) || !row.checked_at || row.checked_at.getTime() < newerThan,
    );
    const asked = stale.length > 0 ? await transact(db, (tx) => ask(tx, stale)) : [];
    await settled(db, asked, { timeoutMs: REFRESH_WAIT_MS, signal: wanted.signal });
    return selectContents(db, scope);
  }

  /**
   * Gives no new number to what is already asked for, so that readers of a slow host add no work; the job is added
   * all the same, because the one that waits may stand for a later time.
   */
  async function ask(tx: Tx, stale: readonly store.CheckProgress[]): Promise<store.CheckProgress[]> {
    for (const row of stale) {
      if (!isPending(row)) await store.countCheck(tx, row.id);
      await enqueueCheck(tx, row);
    }
    return store.selectProgress(tx, { ids: stale.map(({ id }) => id) });
  }

  /** Asks for checks of what was not checked for a while; answers how many. */
  async function requestDue(db: Db): Promise<number> {
    const startMs = now().getTime();
    return transact(db, async (tx) => {
      const due = await store.lockDue(tx, { before: new Date(startMs - DUE_AFTER_MS), limit: DUE_BATCH });
      for (const [index, row] of due.entries()) {
        const runAt = new Date(startMs + Math.floor((DUE_SPREAD_MS * index) / due.length));
        await store.countCheck(tx, row.id);
        await enqueueCheck(tx, row, runAt);
      }
      return due.length;
    });
  }

  /** The repository to check, or null when it is gone or every check that was asked for has ended. */
  async function begin(db: Db, id: string): Promise<RepositoryRow | null> {
    const row = await store.selectForCheck(db, id);
    return row && isPending(row) ? row : null;
  }

  async function openCredential(db: Db, row: RepositoryRow): Promise<GitCredential | null> {
    const { credential_id: id, organization_id: organizationId, url } = row;
    return id ? credentials.open(db, { organizationId, id, url }) : null;
  }

  /** Stores what a check found, unless the repository was changed, deleted or checked anew meanwhile. */
  async function report(db: Db, seen: RepositoryRow, result: CheckResult): Promise<void> {
    await transact(db, async (tx) => {
      const row = await store.lockForReport(tx, seen.id);
      if (!row || row.checks_settled >= seen.checks_requested || isReadOtherwise(row, seen)) return;
      const settlement = { checks_settled: seen.checks_requested, checked_at: now() };
      if (result.outcome === 'failed') {
        await store.settleCheck(tx, row.id, { ...settlement, status: 'error', error: result.error });
        return;
      }
      const reading = result.outcome === 'read' ? stored(result.reading) : {};
      await store.settleCheck(tx, row.id, { ...settlement, ...reading, status: 'ready', error: null });
      if (result.outcome === 'read' && hasMoved(row, result.reading)) {
        await warmPools.bumpRepository(tx, row.id);
      }
    });
  }

  return { request, settled, refresh, requestDue, begin, openCredential, report };
}

/**
 * One job waits for each repository and one runs, however often a check is asked for. The lanes keep an organization
 * whose git hosts are slow from taking every worker.
 */
async function enqueueCheck(
  db: Db,
  { id, organization_id }: Pick<RepositoryRow, 'id' | 'organization_id'>,
  runAt?: Date,
): Promise<void> {
  const lane = Number.parseInt(id.slice(-4), 16) % CHECK_LANES;
  await enqueue(db, {
    name: CHECK_TASK,
    payload: { repository_id: id },
    key: `${CHECK_TASK}:${id}`,
    // A check that is only due must not put off one that somebody waits for.
    keyMode: runAt ? 'preserve_run_at' : 'replace',
    queue: `${CHECK_TASK}:${organization_id}:${lane}`,
    maxAttempts: CHECK_ATTEMPTS,
    ...(runAt && { runAt }),
  });
}

function isPending(row: { checks_requested: number; checks_settled: number }): boolean {
  return row.checks_settled < row.checks_requested;
}

function isReadOtherwise(row: RepositoryRow, seen: RepositoryRow): boolean {
  return (
    row.url !== seen.url ||
    row.credential_id !== seen.credential_id ||
    row.requested_branch !== seen.requested_branch
  );
}

/** Whether what was baked into workspaces before differs from what is read now; a first reading differs from nothing. */
function hasMoved(row: RepositoryRow, reading: RepositoryReading): boolean {
  if (row.head_commit === null) return false;
  return row.head_commit !== reading.head_commit || row.default_branch !== reading.default_branch;
}

function stored(reading: RepositoryReading) {
  return {
    default_branch: reading.default_branch,
    head_commit: reading.head_commit,
    configuration: JSON.stringify(reading.configuration),
    skills: JSON.stringify(reading.skills),
  };
}
