import { v5 } from 'uuid';
import { z } from 'zod';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { HookRunService, PlannedHook } from '../hook-run/service.ts';
import { sentenceFor } from '../lib/user-sentence.ts';
import { hostTask } from '../sandbox/host.ts';
import type { SandboxRow, SandboxService } from '../sandbox/service.ts';
import { defineTask, type TaskContext, type Tasks } from '../work/task.ts';
import type { WorkspacePlan } from '../workspace-plan/plan.ts';
import { toBootPlan } from '../workspace-plan/to-boot-plan.ts';
import { HOOK_TEST_TASK, type HookTestRow, type HookTestService } from './service.ts';
import { deleteOldTests, selectAbandoned } from './store.ts';

type Parts = {
  db: Db;
  tests: HookTestService;
  sandboxes: SandboxService;
  hookRuns: Pick<HookRunService, 'plan'>;
  compose: (wanted: {
    organizationId: string;
    environmentId: string | null;
    hooks: readonly never[];
    signal: AbortSignal;
  }) => Promise<WorkspacePlan>;
  now: () => Date;
};

const TIMEOUT_MS = 5 * 60_000;
const KEPT_MS = 24 * 3_600_000;

export function createHookTestWorker({ db, tests, sandboxes, hookRuns, compose, now }: Parts) {
  async function run(id: string, { signal, log }: TaskContext): Promise<void> {
    const test = await tests.find(db, id);
    if (!test?.sandbox_id || !(await move(id, { status: 'preparing' }))) return;
    const sandbox = await sandboxes.find(db, test.sandbox_id);
    if (!sandbox) return;
    try {
      await sandboxes.start(db, sandbox, signal);
      await boot(test, sandbox, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      log.warn({ hookTestId: id, err: error }, 'hook_test.work_failed');
      const fallback = 'The sandbox of the test could not be started; the log of the service says why.';
      await move(id, { status: 'failed', error: sentenceFor(error, fallback) });
    }
  }

  async function boot(test: HookTestRow, sandbox: SandboxRow, signal: AbortSignal): Promise<void> {
    const plan = await compose({
      organizationId: test.organization_id,
      environmentId: test.environment_id,
      hooks: [],
      signal,
    });
    const hook: PlannedHook = {
      phase: test.phase as 'warm',
      type: 'environment',
      name: 'test',
      repositoryName: null,
      repository: null,
      commands: [test.content],
      timeoutMs: TIMEOUT_MS,
      separate: false,
    };
    const owner = { organizationId: test.organization_id, sandboxId: sandbox.id, hookTestId: test.id };
    const bootId = v5('test', test.id);
    const hooks = await hookRuns.plan(db, owner, { id: bootId, hooks: [hook] });
    await move(test.id, { hook_run_id: hooks[0]?.runId ?? null });
    const body = toBootPlan(plan, { id: bootId, hooks, failOn: 'nothing', restore: false });
    const { status } = await sandboxes.send(sandbox, { method: 'PUT', path: '/boot', body }, signal);
    if (status !== 202) throw new Error(`the engine answered ${status} to its boot`);
  }

  function move(id: string, change: Parameters<HookTestService['change']>[2]): Promise<boolean> {
    return transact(db, (tx) => tests.change(tx, id, change));
  }

  /** A caller who is gone needs no result; old results nobody asks for again. */
  async function sweep(): Promise<void> {
    for (const { id } of await selectAbandoned(db, now())) {
      await move(id, { status: 'cancelled', error: 'The caller left.' });
    }
    await deleteOldTests(db, new Date(now().getTime() - KEPT_MS));
  }

  async function onStopped(sandbox: SandboxRow): Promise<void> {
    if (sandbox.hook_test_id) {
      await move(sandbox.hook_test_id, {
        status: 'failed',
        error: 'The sandbox of the test stopped by itself.',
      });
    }
  }

  const tasks: Tasks = [
    defineTask({
      name: hostTask(HOOK_TEST_TASK, sandboxes.hostId),
      payload: z.object({ hook_test_id: z.guid() }),
      run: ({ hook_test_id }, context) => run(hook_test_id, context),
    }),
  ];
  return { tasks, sweep, onStopped };
}
