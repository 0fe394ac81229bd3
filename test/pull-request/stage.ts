import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { pino } from 'pino';
import { transact } from '../../src/db/transact.ts';
import type { GitEvent, Remark } from '../../src/git-event/event.ts';
import { createAppTokens } from '../../src/git-host/app-token.ts';
import { createGitHostService } from '../../src/git-host/service.ts';
import { newId } from '../../src/lib/ids.ts';
import { createPullRequestService } from '../../src/pull-request/service.ts';
import type { ReplicaState } from '../../src/replica/lifecycle.ts';
import { createRepositoryService } from '../../src/repository/service.ts';
import { createRepositoryCredentialService } from '../../src/repository-credential/service.ts';
import { parseKeyRing } from '../../src/secret/key-ring.ts';
import { createSealer } from '../../src/secret/seal.ts';
import { createWarmPoolService } from '../../src/warm-pool/service.ts';
import { openStage } from '../chat/stage.ts';
import { startGitHostApi } from '../world/git-host-api.ts';

export type PullRequestStage = Awaited<ReturnType<typeof openPullRequestStage>>;
export type Workspace = Awaited<ReturnType<PullRequestStage['workspace']>>;
type Wanted = {
  state?: ReplicaState;
  kind?: 'github' | 'gitlab';
  config?: object;
  source?: string;
  /** Whether the repository is read as a GitHub App, not with a token. */
  hasApp?: boolean;
};

const TOKEN = 'token-of-the-organization';
const nothing: GitEvent = {
  kind: 'github',
  triggers: [],
  actor: 'ada',
  pullRequest: null,
  numbers: [],
  commit: null,
  branch: null,
  remark: null,
  comment: null,
};

/** The services of chats and pull requests on a real database, with stand-ins for engines and for the APIs of git hosts. */
export async function openPullRequestStage() {
  await using opening = new AsyncDisposableStack();
  const stage = await openStage();
  opening.defer(stage.close);
  const api = await startGitHostApi({ token: TOKEN });
  opening.defer(api.close);
  const { db, replicas, chats } = stage;
  let aheadMs = 0;
  const now = () => new Date(Date.now() + aheadMs);
  const sealer = createSealer(parseKeyRing(randomBytes(32).toString('base64')));
  const common = { newId, now, sealer, allowPrivateTargets: true };
  const hosts = createGitHostService(common);
  const appTokens = createAppTokens({ ...common, hosts });
  const credentials = createRepositoryCredentialService({ ...common, appTokens });
  const warmPools = createWarmPoolService({ ...common, targetSize: 0 });
  const repositories = createRepositoryService({ ...common, credentials, warmPools });
  const pullRequests = createPullRequestService({
    db,
    hosts,
    replicas,
    repositories,
    chats,
    followUpDelayMs: 10_000,
    newId,
    now,
  });
  const log = pino({ level: 'silent' });

  function installApp() {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    api.apps.install('12345', publicKey);
    const private_key = String(privateKey.export({ type: 'pkcs1', format: 'pem' }));
    return { kind: 'github_app', name: 'app', app_id: '12345', private_key } as const;
  }

  /** A replica that has `team/app` checked out. */
  async function workspace(wanted: Wanted = {}) {
    const { state = 'active', kind = 'github', config = {}, source = 'api', hasApp = false } = wanted;
    const actor = await stage.replica(state);
    const { caller, id: replicaId } = actor;
    const { organizationId } = caller;
    const host = `${kind}.test.example`;
    const apiUrl = kind === 'github' ? api.githubUrl : api.gitlabUrl;
    await hosts.set(db, caller, { host, kind, apiUrl });
    const repository = await transact(db, async (tx) => {
      const token = { name: 'token', username: 'x-access-token', token: TOKEN };
      const { id: credential_id } = await credentials.create(tx, caller, hasApp ? installApp() : token);
      return repositories.create(tx, caller, { url: `https://${host}/team/app`, credential_id });
    });
    const { id: repositoryId, url } = repository;
    await db
      .insertInto('replica_repository')
      .values({
        replica_id: replicaId,
        repository_id: repositoryId,
        position: 0,
        name: 'app',
        url,
        branch: 'work',
        default_branch: 'main',
        updated_at: now(),
      })
      .execute();
    await db
      .updateTable('replica')
      .set({ config: JSON.stringify(config), source })
      .where('id', '=', replicaId)
      .execute();
    const identity = { sandboxId: newId(), organizationId, environmentId: null, replicaId } as never;

    /** Gives an event of the repository to the service. `second` is when the host says that it happened. */
    async function happen(event: Partial<GitEvent>, second?: number): Promise<void> {
      const updated_at = second === undefined ? null : new Date(second * 1_000).toISOString();
      await transact(db, (tx) =>
        pullRequests.onGitEvent(tx, {
          organizationId,
          repositoryId,
          deliveryId: newId(),
          event: { ...nothing, kind, ...event },
          payload: { pull_request: { updated_at } },
        }),
      );
    }
    const pullEvent = (state: 'open' | 'merged' | 'closed', second?: number, number = 1, branch = 'work') =>
      happen(
        {
          pullRequest: {
            number,
            url: `https://${host}/team/app/pull/${number}`,
            state,
            headBranch: branch,
            headCommit: commit(number),
          },
        },
        second,
      );
    const push = (branch: string, newCommit: string, ref = `refs/heads/${branch}`) =>
      pullRequests.tracking.onPushed({
        identity,
        repositoryId,
        refs: [{ ref, oldCommit: '0'.repeat(40), newCommit }],
      });

    return {
      ...actor,
      repositoryId,
      identity,
      happen,
      pullEvent,
      push,
      /** Something is said of pull request 1. */
      say: (remark: Partial<Remark>, more: Partial<GitEvent> = {}) =>
        happen({
          numbers: [1],
          remark: { kind: 'comment', key: remark.url ?? newId(), text: 'Why?', url: null, ...remark },
          ...more,
        }),
      /** A branch that was pushed, and its open pull request. */
      async withPull() {
        await push('work', commit(1));
        await pullEvent('open', 1);
      },
      look: (cause: 'push' | 'contact' = 'push', step = 0) =>
        pullRequests.tracking.look({ replicaId, cause, step }, { signal: AbortSignal.timeout(20_000), log }),
      /** What the jobs for follow-ups do when they are due. */
      async tell() {
        for (const { id } of await pulls()) await pullRequests.followUps.tell(id);
      },
      pulls,
    };

    function pulls() {
      return db
        .selectFrom('replica_pull_request')
        .selectAll()
        .where('replica_id', '=', replicaId)
        .orderBy('number')
        .execute();
    }
  }

  /** Takes the jobs that wait under a key, as a worker would, with the seconds until they are due. */
  async function takeJobs(key: string): Promise<{ payload: Record<string, unknown>; seconds: number }[]> {
    const { rows } = await sql<{ payload: Record<string, unknown>; run_at: Date }>`
      delete from graphile_worker._private_jobs where key = ${key} returning payload, run_at`.execute(db);
    return rows.map(({ payload, run_at }) => ({
      payload,
      seconds: Math.ceil((run_at.getTime() - now().getTime()) / 1_000) + 0,
    }));
  }

  const everything = opening.move();
  return {
    ...stage,
    api,
    pullRequests,
    workspace,
    takeJobs,
    /** Lets the clock of pull requests be ahead. */
    moveClock: (ms: number) => {
      aheadMs = ms;
    },
    close: () => everything.disposeAsync(),
  };
}

/** A commit by its number. */
export function commit(number: number): string {
  return number.toString(16).padStart(40, '0').replace(/^0/, 'c');
}
