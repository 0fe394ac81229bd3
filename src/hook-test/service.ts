import type { Caller } from '../account/caller.ts';
import type { Db } from '../db/database.ts';
import { afterCommit } from '../db/transact.ts';
import type { EngineEvent } from '../engine/protocol.ts';
import type { EnvironmentService } from '../environment/service.ts';
import type { Hook, HookService } from '../hook/service.ts';
import type { HookRunService } from '../hook-run/service.ts';
import { hostTask } from '../sandbox/host.ts';
import type { SandboxRow, SandboxService } from '../sandbox/service.ts';
import { enqueue } from '../work/enqueue.ts';
import { hasEnded } from './has-ended.ts';
import * as store from './store.ts';

type Parts = {
  environments: Pick<EnvironmentService, 'find'>;
  hooks: Pick<HookService, 'save'>;
  hookRuns: Pick<HookRunService, 'report'>;
  sandboxes: Pick<SandboxService, 'hostId' | 'make' | 'lock' | 'release'>;
  signals: { touch(topic: string): void };
  /** The size of an organization's sandboxes. */
  tierOf: (db: Db, organizationId: string) => Promise<string>;
  newId: () => string;
  now: () => Date;
};
type Wanted = {
  environmentId: string;
  phase: 'warm' | 'start';
  content: string;
  save: 'never' | 'always' | 'on_success';
};

export type { HookTestRow } from './store.ts';
export type HookTestService = ReturnType<typeof createHookTestService>;

export const HOOK_TEST_TASK = 'hook_test.work';
/** Renewed while the caller waits; a test whose caller is gone ends soon after it. */
export const LEASE_MS = 15_000;
export const testTopic = (id: string) => `hook-test:${id}`;

/** Tries hooks in sandboxes of their own, for callers who wait for the result. */
export function createHookTestService(parts: Parts) {
  const { environments, hooks, hookRuns, sandboxes, signals, tierOf, newId, now } = parts;

  async function begin(
    db: Db,
    caller: Caller,
    wanted: Wanted,
  ): Promise<{ test: store.HookTestRow; saved: Hook | null }> {
    const environment = await environments.find(db, caller, wanted.environmentId);
    const saved =
      wanted.save === 'always'
        ? await hooks.save(db, caller, {
            environmentId: environment.id,
            kind: wanted.phase,
            content: wanted.content,
          })
        : null;
    const id = newId();
    const sandbox = await sandboxes.make(db, {
      organizationId: caller.organizationId,
      environmentId: environment.id,
      purpose: 'hook_test',
      hookTestId: id,
      size: await tierOf(db, caller.organizationId),
      layers: [],
    });
    const test = await store.insertTest(db, {
      id,
      organization_id: caller.organizationId,
      environment_id: environment.id,
      phase: wanted.phase,
      content: wanted.content,
      save: wanted.save,
      status: 'waiting',
      sandbox_id: sandbox.id,
      lease_until: leaseEnd(),
      created_at: now(),
      updated_at: now(),
    });
    await enqueue(db, {
      name: hostTask(HOOK_TEST_TASK, sandboxes.hostId),
      payload: { hook_test_id: id },
      maxAttempts: 3,
    });
    return { test, saved };
  }

  /** The caller is still there. */
  function renew(db: Db, id: string): Promise<void> {
    return store.updateTest(db, id, { lease_until: leaseEnd() });
  }

  /** Moves an open test on; one that has ended stays as it is. Ending lets its sandbox go. */
  async function change(
    db: Db,
    id: string,
    changed: Partial<Pick<store.HookTestRow, 'status' | 'error' | 'exit_code' | 'timed_out' | 'hook_run_id'>>,
  ): Promise<boolean> {
    const found = await store.selectTest(db, id);
    // The sandbox first: who takes an engine's report holds it already.
    if (found?.sandbox_id) await sandboxes.lock(db, found.sandbox_id);
    const test = await store.lockOpenTest(db, id);
    if (!test) return false;
    await store.updateTest(db, id, { ...changed, updated_at: now() });
    if (test.sandbox_id && hasEnded({ ...test, ...changed })) await sandboxes.release(db, test.sandbox_id);
    afterCommit(db, () => signals.touch(testTopic(id)));
    return true;
  }

  /** Takes what the engine of a test's sandbox says. */
  async function take(db: Db, sandbox: SandboxRow, events: readonly EngineEvent[]): Promise<void> {
    const id = sandbox.hook_test_id;
    const test = id && (await store.lockOpenTest(db, id));
    if (!test) return;
    for (const event of events) {
      if (event.type === 'boot.failed') {
        await change(db, test.id, { status: 'failed', error: event.payload.message });
      } else if (
        event.type === 'hook.started' ||
        event.type === 'hook.output' ||
        event.type === 'hook.finished'
      ) {
        const news = await hookRuns.report(db, sandbox.id, event);
        if (news?.run.id !== test.hook_run_id) continue;
        if (event.type === 'hook.started') await change(db, test.id, { status: 'running' });
        if (event.type === 'hook.finished') await finish(db, test, event.payload);
      }
    }
    afterCommit(db, () => signals.touch(testTopic(test.id)));
  }

  async function finish(
    db: Db,
    test: store.HookTestRow,
    result: { exitCode: number | null; timedOut: boolean },
  ): Promise<void> {
    const { exitCode, timedOut } = result;
    const isEnded = await change(db, test.id, {
      status: 'finished',
      exit_code: exitCode,
      timed_out: timedOut,
    });
    if (isEnded && test.save === 'on_success' && exitCode === 0) {
      await hooks.save(
        db,
        { organizationId: test.organization_id },
        {
          environmentId: test.environment_id,
          kind: test.phase as 'warm',
          content: test.content,
        },
      );
    }
  }

  const leaseEnd = () => new Date(now().getTime() + LEASE_MS);

  return { begin, renew, change, take, find: store.selectTest };
}
