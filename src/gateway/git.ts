import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { AppError } from '../contract/error.ts';
import type { Mirrors } from '../git/mirror.ts';
import type { GitRemote } from '../git/remote.ts';
import { createServe, type Serve } from '../git/serve.ts';
import { withRenewal } from '../git/with-renewal.ts';
import type { Lookup } from '../lib/address-guard.ts';
import type { SandboxIdentity } from '../sandbox/service.ts';
import { goneSignal } from './answer.ts';
import { answerGitFailure } from './git-answer.ts';
import { createGitFetch } from './git-fetch.ts';
import { createGitPush } from './git-push.ts';
import { parseGitRequest } from './git-request.ts';
import type { BoundRepository, GitTalk } from './git-talk.ts';
import type { RefUpdate } from './push-commands.ts';
import type { GatewayRoute } from './server.ts';
import { createCounter, createSlots } from './slots.ts';

export type GitRouteOptions = {
  /** Belongs to git alone; the same as that of the mirrors. */
  cacheDir: string;
  mirrors: Mirrors;
  allowPrivateTargets: boolean;
  /** The repository when it is bound to that sandbox, else null. */
  resolveRepository(identity: SandboxIdentity, repositoryId: string): Promise<BoundRepository | null>;
  /** Called after a push with the refs that the remote has changed. */
  onPushed(push: { identity: SandboxIdentity; repositoryId: string; refs: RefUpdate[] }): Promise<void>;
  log: Logger;
  lookup?: Lookup;
  limits?: Partial<GitRouteLimits>;
};

export type GitRouteLimits = {
  /** What a client may say about what it has and wants. */
  fetchRequestBytes: number;
  pushBytes: number;
  /** Requests at once. */
  perSandbox: number;
  /** Processes of git at once, for all sandboxes; more wait. */
  processes: number;
  /** For one process, and for one push. */
  timeoutMs: number;
};

const mebibyte = 1_048_576;
const usualLimits: GitRouteLimits = {
  fetchRequestBytes: 32 * mebibyte,
  pushBytes: 4_096 * mebibyte,
  perSandbox: 64,
  processes: Math.max(16, 8 * availableParallelism()),
  timeoutMs: 60 * 60_000,
};

/**
 * Smart HTTP for the repositories that are bound to a sandbox. What is fetched comes from a local mirror; what is pushed
 * goes straight to the remote. The credential is added on this side and never enters a sandbox.
 */
export function createGitRoute(options: GitRouteOptions): GatewayRoute {
  const { mirrors, allowPrivateTargets, lookup, log } = options;
  const limits = { ...usualLimits, ...options.limits };
  const cacheDir = resolve(options.cacheDir);
  const serve = limitProcesses(
    createServe({ cacheDir, timeoutMs: limits.timeoutMs, maxBytes: limits.pushBytes }),
    limits.processes,
  );
  const answerFetch = createGitFetch({ mirrors, serve, maxBytes: limits.fetchRequestBytes });
  const answerPush = createGitPush({
    cacheDir,
    mirrors,
    serve,
    allowPrivateTargets,
    lookup,
    maxBytes: limits.pushBytes,
    timeoutMs: limits.timeoutMs,
  });
  const requests = createCounter(limits.perSandbox);

  async function answer(talk: Omit<GitTalk, 'asked' | 'repository'>, identity: SandboxIdentity) {
    const asked = parseGitRequest(talk.request);
    const { repositoryId } = asked;
    const repository = await options.resolveRepository(identity, repositoryId);
    if (repository === null) {
      throw new AppError('not_found', 'This repository does not exist, or is not bound to this workspace.');
    }
    const whole = (remote: GitRemote): GitTalk => ({
      ...talk,
      asked,
      repository: { ...repository, remote },
    });
    if (asked.service === 'upload-pack')
      return withRenewal(repository.remote, (remote) => answerFetch(whole(remote)));
    // A push cannot be sent twice; the request before it, for the refs, has found out whether the credential works.
    const refs = asked.isFirst
      ? await withRenewal(repository.remote, (remote) => answerPush(whole(remote)))
      : await answerPush(whole(repository.remote));
    if (refs.length === 0) return;
    // The client has its answer: what fails here is no failure of the push.
    await options.onPushed({ identity, repositoryId, refs }).catch((error: unknown) => {
      log.error({ repositoryId, err: error }, 'gateway.push_not_recorded');
    });
  }

  return {
    prefix: '/git/',
    async handle(request, response, identity) {
      const signal = goneSignal(response);
      const leave = requests.take(identity.sandboxId);
      try {
        if (!leave)
          throw new AppError('rate_limited', 'Too many git commands at once; wait for some to end.');
        await answer({ request, response, signal }, identity);
      } catch (error) {
        if (!signal.aborted) answerGitFailure(response, error, log);
      } finally {
        leave?.();
      }
    },
  };
}

function limitProcesses(serve: Serve, count: number): Serve {
  const slots = createSlots(count);
  return async (serving) => {
    const free = await slots.take(serving.signal);
    try {
      await serve(serving);
    } finally {
      free();
    }
  };
}
