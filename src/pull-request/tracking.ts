import type { Logger } from 'pino';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { RefUpdate } from '../gateway/push-commands.ts';
import { GitError } from '../git/failure.ts';
import type { GitHostService } from '../git-host/service.ts';
import type { ReplicaService } from '../replica/service.ts';
import type { RepositoryService } from '../repository/service.ts';
import type { SandboxIdentity } from '../sandbox/service.ts';
import { enqueue } from '../work/enqueue.ts';
import * as branches from './branch-store.ts';
import { isOver } from './is-over.ts';
import type { Noting } from './noting.ts';
import { createOnHost } from './on-host.ts';
import { moveHeads } from './store.ts';

type Parts = {
  db: Db;
  hosts: Pick<GitHostService, 'of' | 'apiUrls'>;
  replicas: Pick<ReplicaService, 'read' | 'lock' | 'repositoriesOf'>;
  repositories: Pick<RepositoryService, 'remoteById'>;
  note: Noting;
  now: () => Date;
};
type Push = { identity: SandboxIdentity; repositoryId: string; refs: RefUpdate[] };
/** Hosts, with ports, that a replica has reached. */
export type Contacts = { replicaId: string; organizationId: string; targets: ReadonlySet<string> };
export type Look = { replicaId: string; cause: LookCause; step: number };
export type LookCause = keyof typeof lookDelaysMs;

export const LOOK_TASK = 'pull_request.look';

/**
 * When the host is asked after a push, and after the sandbox has spoken to the API of a host: the first time from then,
 * each further time from the one before. Somebody may open a pull request a while later.
 */
const lookDelaysMs = { push: [0, 10_000, 60_000], contact: [1_000, 10_000] } as const;
/** Branches that one push, one replica and one look are good for. */
const MAX_PUSHED = 50;
const MAX_BRANCHES = 100;
const MAX_LOOKED = 10;
/** Hosts take no longer ones. */
const MAX_BRANCH_LENGTH = 255;

export type Tracking = ReturnType<typeof createTracking>;

/** The branches that replicas push, and the pull requests that are opened from them in whatever way. */
export function createTracking(parts: Parts) {
  const { db, hosts, replicas, repositories, note, now } = parts;
  const onHost = createOnHost(parts);

  async function onPushed({ identity: { replicaId }, repositoryId, refs }: Push): Promise<void> {
    if (!replicaId) return;
    await transact(db, async (tx) => {
      const row = await replicas.lock(tx, replicaId);
      if (!row || isOver(row)) return;
      const checkedOut = await replicas.repositoriesOf(tx, [replicaId]);
      const known = checkedOut.find((one) => one.repository_id === repositoryId);
      const pushed = refs
        .map(({ ref, newCommit }) => ({ branch: branchOf(ref), commit: newCommit }))
        // What comes from the default branch is everybody's.
        .filter(({ branch }) => branch !== null && branch !== known?.default_branch)
        .slice(0, MAX_PUSHED);
      for (const { branch, commit } of pushed) {
        if (branch === null) continue;
        const key = { replicaId, repositoryId, branch };
        if (/^0+$/.test(commit)) {
          await branches.deleteBranch(tx, key);
          continue;
        }
        await branches.upsertBranch(tx, {
          replica_id: replicaId,
          repository_id: repositoryId,
          branch,
          head_commit: commit,
          pushed_at: now(),
        });
        await moveHeads(tx, { ...key, commit });
      }
      await branches.keepNewest(tx, { replicaId, most: MAX_BRANCHES });
      if (pushed.length > 0) await request(tx, { replicaId, cause: 'push', step: 0 }, row.organization_id);
    });
  }

  /** Looks for pull requests of replicas that have spoken to the API of a git host and may have opened one. */
  async function onContacts(contacts: readonly Contacts[]): Promise<void> {
    const ids = contacts.map(({ replicaId }) => replicaId);
    const waiting = new Set(ids.length === 0 ? [] : await branches.selectUnmatchedReplicas(db, ids));
    const mayHave = contacts.filter(({ replicaId }) => waiting.has(replicaId));
    for (const [organizationId, list] of Map.groupBy(mayHave, (one) => one.organizationId)) {
      const apis = (await hosts.apiUrls(db, organizationId)).map(targetOf);
      for (const { replicaId, targets } of list)
        if (apis.some((api) => targets.has(api)))
          await request(db, { replicaId, cause: 'contact', step: 0 }, organizationId);
    }
  }

  /** Asks the git hosts which pull requests come from what a replica has pushed. */
  async function look(asked: Look, { signal, log }: { signal: AbortSignal; log: Logger }): Promise<void> {
    const { replicaId } = asked;
    const row = await replicas.read(db, replicaId);
    if (!row || isOver(row)) return;
    const unmatched = await branches.selectUnmatched(db, { replicaId, limit: MAX_LOOKED });
    for (const [repositoryId, list] of Map.groupBy(unmatched, (one) => one.repository_id)) {
      const key = { organizationId: row.organization_id, id: repositoryId };
      try {
        const remote = await repositories.remoteById(db, key);
        if (!remote) continue;
        await onHost({ organizationId: row.organization_id, remote }, async (host) => {
          for (const { branch } of list)
            for (const one of await host.findPullRequests(branch, signal))
              await keep(replicaId, { ...one, repositoryId, branch, state: 'open' });
        });
      } catch (error) {
        if (signal.aborted || !(error instanceof GitError)) throw error;
        log.info({ replicaId, repositoryId, err: error }, 'pull_request.not_looked_for');
      }
    }
    const next = { ...asked, step: asked.step + 1 };
    if (unmatched.length > 0) await request(db, next, row.organization_id);
  }

  async function keep(replicaId: string, seen: Parameters<Noting>[2]): Promise<void> {
    await transact(db, async (tx) => {
      const row = await replicas.lock(tx, replicaId);
      if (row && !isOver(row)) await note(tx, row, seen);
    });
  }

  /** Adds the job of a step, unless the steps are over. One look at a time keeps slow hosts of one organization apart. */
  async function request(tx: Db, { replicaId, cause, step }: Look, organizationId: string): Promise<void> {
    const delayMs = lookDelaysMs[cause][step];
    if (delayMs === undefined) return;
    await enqueue(tx, {
      name: LOOK_TASK,
      payload: { replica_id: replicaId, cause, step },
      key: `${LOOK_TASK}:${cause}:${replicaId}`,
      // A new push is looked at at once; contacts, which may not end, are looked at when the first of them is due.
      keyMode: cause === 'push' && step === 0 ? 'replace' : 'preserve_run_at',
      queue: `${LOOK_TASK}:${organizationId}`,
      runAt: new Date(now().getTime() + delayMs),
    });
  }

  return { onPushed, onContacts, look };
}

function branchOf(ref: string): string | null {
  const branch = /^refs\/heads\/(.+)$/s.exec(ref)?.[1];
  return branch !== undefined && branch.length <= MAX_BRANCH_LENGTH && branch.isWellFormed() ? branch : null;
}

/** Host and port, as the gateway counts contacts. */
function targetOf(apiUrl: string): string {
  const { hostname, port, protocol } = new URL(apiUrl);
  return `${hostname}:${port || (protocol === 'http:' ? '80' : '443')}`;
}
