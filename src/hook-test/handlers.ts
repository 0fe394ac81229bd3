import type { Caller } from '../account/caller.ts';
import { AppError } from '../contract/error.ts';
import type { hookOperations } from '../contract/hook.ts';
import type { Db } from '../db/database.ts';
import { presentHook } from '../hook/present.ts';
import type { HookService } from '../hook/service.ts';
import type { HookRunService } from '../hook-run/service.ts';
import type { Handlers } from '../http/handler.ts';
import type { SseFrame } from '../http/sse.ts';
import type { FollowTest } from './follow.ts';
import type { HookTestRow, HookTestService } from './service.ts';

type Operations = Pick<
  typeof hookOperations,
  'testWarmHook' | 'saveTestWarmHook' | 'streamWarmHookTest' | 'testStartHook' | 'streamStartHookTest'
>;
type Parts = {
  tests: HookTestService;
  hooks: Pick<HookService, 'readWarm'>;
  hookRuns: Pick<HookRunService, 'find'>;
  follow: FollowTest;
};

const said: Record<string, string> = {
  waiting: 'Waiting for a worker',
  preparing: 'Preparing a sandbox with the bound repositories',
  running: 'Running the hook',
  finished: 'The hook has ended',
  failed: 'The test has failed',
  cancelled: 'The test was stopped',
};

export function hookTestHandlers({ tests, hooks, hookRuns, follow }: Parts): Handlers<Operations> {
  /** The result of a test once it is there; a test that could not run at all is an error. */
  async function result(db: Db, id: string, signal: AbortSignal) {
    let ended: HookTestRow | null = null;
    for await (const news of follow(db, id, signal)) if (news.kind === 'ended') ended = news.test;
    if (ended?.status !== 'finished') throw refusal(ended);
    const run = ended.hook_run_id ? await hookRuns.find(db, ended.hook_run_id) : undefined;
    return { exit_code: ended.exit_code, output: run?.output ?? '', timed_out: ended.timed_out ?? false };
  }

  async function* frames(
    db: Db,
    shown: { id: string; caller: Caller; isSaving: boolean; signal: AbortSignal },
  ): AsyncGenerator<SseFrame<Record<string, unknown>>> {
    for await (const news of follow(db, shown.id, shown.signal)) {
      if (news.kind === 'output') yield { event: 'output', data: { output: news.text } };
      else if (news.kind === 'status') {
        yield { event: 'progress', data: { status: news.status, message: said[news.status] ?? news.status } };
      } else if (news.test.status !== 'finished') {
        yield { event: 'error', data: { message: refusal(news.test).message } };
      } else {
        const { exit_code, timed_out, environment_id } = news.test;
        const saved = shown.isSaving
          ? { warm_hook: presentHook((await hooks.readWarm(db, shown.caller, environment_id)).hook) }
          : {};
        yield { event: 'complete', data: { exit_code, timed_out: timed_out ?? false, ...saved } };
      }
    }
  }

  return {
    async testWarmHook({ db, caller, params, body }) {
      const { test } = await tests.begin(db, caller, { ...params, ...body, phase: 'warm', save: 'never' });
      return {
        status: 200,
        body: { test: unknown },
        settle: async (pool, signal) => ({ test: await result(pool, test.id, signal) }),
      };
    },

    async saveTestWarmHook({ db, caller, params, body }) {
      const { test, saved } = await tests.begin(db, caller, {
        ...params,
        ...body,
        phase: 'warm',
        save: body.persist,
      });
      return {
        status: 200,
        body: { warm_hook: presentHook(saved), test: unknown },
        settle: async (pool, signal) => {
          const outcome = await result(pool, test.id, signal);
          const { hook } = await hooks.readWarm(pool, caller, test.environment_id);
          return { warm_hook: presentHook(hook), test: outcome };
        },
      };
    },

    async streamWarmHookTest({ db, caller, params, body }) {
      const save = body.mode === 'test_only' ? 'never' : body.persist;
      const { test } = await tests.begin(db, caller, { ...params, ...body, phase: 'warm', save });
      const isSaving = save !== 'never';
      return {
        status: 200,
        stream: (pool, signal) => frames(pool, { id: test.id, caller, isSaving, signal }),
      };
    },

    async testStartHook({ db, caller, params, body }) {
      const { test } = await tests.begin(db, caller, { ...params, ...body, phase: 'start', save: 'never' });
      return {
        status: 200,
        body: { test: unknown },
        settle: async (pool, signal) => ({ test: await result(pool, test.id, signal) }),
      };
    },

    async streamStartHookTest({ db, caller, params, body }) {
      const { test } = await tests.begin(db, caller, { ...params, ...body, phase: 'start', save: 'never' });
      return {
        status: 200,
        stream: (pool, signal) => frames(pool, { id: test.id, caller, isSaving: false, signal }),
      };
    },
  };
}

/** What a repeat finds when the first caller was cut off before the result was there. */
const unknown = { exit_code: null, output: '', timed_out: false };

function refusal(test: HookTestRow | null): AppError {
  return new AppError('hook_test_failed', test?.error ?? 'The test ended without a result.');
}
