import { v5 } from 'uuid';
import type { Db } from '../db/database.ts';
import type { BootHook, EngineEvent } from '../engine/protocol.ts';
import { fitOutput } from './fit-output.ts';
import * as store from './store.ts';

export type { HookRunRow } from './store.ts';
export type HookRunService = ReturnType<typeof createHookRunService>;

/** A hook as the plan of a workspace has it, before it is given to an engine. */
export type PlannedHook = Omit<BootHook, 'runId'> & {
  type: 'global' | 'environment' | 'repository';
  name: string;
  repositoryName: string | null;
};
type Owner = {
  organizationId: string;
  sandboxId: string;
  replicaId?: string;
  warmWorkspaceId?: string;
  hookTestId?: string;
};
type HookEvent = Extract<EngineEvent, { type: `hook.${string}` }>;
/** What a hook's report changed, for whoever shows it on. */
export type HookNews = { run: store.HookRunRow };

/** The characters of a hook's output that are shown with it; the rest is in its log. */
export const PREVIEW_CHARACTERS = 100_000;
/** A replica that wakes often runs its hooks often; so many of the latest runs are kept. */
const KEPT_RUNS = 100;

export function createHookRunService({ now }: { now: () => Date }) {
  /** Writes down the hooks of a boot. Their ids follow from the boot's, so that a second try plans the same runs. */
  async function plan(
    db: Db,
    owner: Owner,
    boot: { id: string; hooks: readonly PlannedHook[] },
  ): Promise<BootHook[]> {
    const { sandboxId, replicaId = null } = owner;
    const at = now();
    const hooks = boot.hooks.map((hook, position) => ({ hook, position, id: v5(String(position), boot.id) }));
    if (replicaId) {
      await store.trimRuns(db, { replicaId, kept: KEPT_RUNS });
      await store.resetCompletion(db, { replicaId, bootId: boot.id });
    }
    // Whatever ran them is gone; nobody else says how they ended.
    await store.endLeftRuns(db, { sandboxId, replicaId, planned: hooks.map(({ id }) => id), at });
    await store.insertRuns(
      db,
      hooks.map(({ hook, position, id }) => ({
        id,
        organization_id: owner.organizationId,
        sandbox_id: sandboxId,
        replica_id: replicaId,
        warm_workspace_id: owner.warmWorkspaceId ?? null,
        hook_test_id: owner.hookTestId ?? null,
        phase: hook.phase,
        type: hook.type,
        name: hook.name,
        repository_name: hook.repositoryName,
        commands: hook.commands,
        position,
        status: 'waiting',
        created_at: at,
      })),
    );
    return hooks.map(({ hook: { type: _type, name: _name, repositoryName: _repository, ...rest }, id }) => ({
      ...rest,
      runId: id,
    }));
  }

  /** Takes a report of an engine; null when it speaks of no hook of that sandbox. */
  async function report(db: Db, sandboxId: string, event: HookEvent): Promise<HookNews | null> {
    if (event.type === 'hook.output') {
      const { runId, text } = event.payload;
      const news = await append(db, sandboxId, { runId, texts: [text] });
      return news && { run: news.run };
    }
    const run = await store.lockRun(db, { id: event.payload.runId, sandboxId });
    if (!run || run.status === 'finished') return null;
    if (event.type === 'hook.started') {
      await store.startRun(db, run.id, now());
      return { run: { ...run, status: 'running' } };
    }
    const { exitCode, timedOut } = event.payload;
    await store.finishRun(db, { id: run.id, exitCode, timedOut, at: now() });
    return { run: { ...run, status: 'finished', exit_code: exitCode, timed_out: timedOut } };
  }

  /** Takes pieces of what a hook wrote, and gives those that are kept; what is too much is counted only. */
  async function append(
    db: Db,
    sandboxId: string,
    written: { runId: string; texts: readonly string[] },
  ): Promise<(HookNews & { texts: string[] }) | null> {
    const run = await store.lockRun(db, { id: written.runId, sandboxId });
    if (!run || run.status === 'finished') return null;
    const kept = { bytes: Number(run.output_bytes), pieces: run.output_seq };
    const { texts, bytes } = fitOutput(written.texts, kept);
    const characters = written.texts.reduce((total, text) => total + [...text].length, 0);
    await store.appendOutput(db, { run, texts, bytes, characters, previewChars: PREVIEW_CHARACTERS });
    return { run, texts };
  }

  return {
    plan,
    report,
    append,
    runsOf: store.selectRuns,
    find: store.selectRun,
    outputAfter: store.selectOutput,
  };
}
