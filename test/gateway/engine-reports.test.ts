import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHookRunService } from '../../src/hook-run/service.ts';
import { newId } from '../../src/lib/ids.ts';
import { type EngineStage, type StagedSandbox, startEngineStage } from './engine-stage.ts';

let stage: EngineStage;
beforeAll(async () => {
  stage = await startEngineStage();
});
afterAll(() => stage?.close());

const commit = 'a'.repeat(40);
const repository = (id: string, added: number) => ({
  id,
  branch: 'main',
  head: commit,
  baseCommit: commit,
  added,
  removed: 0,
  diff: '',
  isDiffCut: false,
  shadowProblem: null,
});
const changed = (...repositories: object[]) => ({ type: 'repositories.changed', payload: { repositories } });
const booted = (bootId: string, repositories: object[] = []) => ({
  type: 'boot.finished',
  payload: { bootId, repositories, filesWritten: [], variablesSet: [], skillsInstalled: [], warnings: [] },
});
const output = (runId: string, text: string) => ({ type: 'hook.output', payload: { runId, text } });

/** A hook of the sandbox's present boot. */
async function planHook(sandbox: StagedSandbox): Promise<string> {
  const { sandboxId, replicaId, bootId } = sandbox;
  const hook = { phase: 'start', type: 'environment', name: 'environment' } as const;
  const how = {
    commands: ['make'],
    repositoryName: null,
    repository: null,
    timeoutMs: 1_000,
    separate: false,
  };
  const [planned] = await createHookRunService({ now: () => new Date() }).plan(
    stage.world.db,
    { organizationId: stage.org.id, sandboxId, replicaId },
    { id: bootId, hooks: [{ ...hook, ...how }] },
  );
  return planned?.runId ?? '';
}

describe('a batch of reports', () => {
  test('is told to followers in the order in which it happened', async () => {
    const repositoryId = newId();
    const sandbox = await stage.sandbox({ state: 'waking', repositories: [repositoryId] });
    const runId = await planHook(sandbox);
    const answer = await sandbox.report(
      { type: 'engine.started', payload: { version: '1' } },
      { type: 'hook.started', payload: { runId } },
      output(runId, 'one\n'),
      changed(repository(repositoryId, 1)),
      output(runId, 'two\n'),
      { type: 'hook.finished', payload: { runId, exitCode: 0, timedOut: false } },
      booted(sandbox.bootId, [repository(repositoryId, 2)]),
      { type: 'turn.started', payload: { turnId: newId(), chatId: newId() } },
      changed(repository(repositoryId, 3)),
    );
    expect(answer.status).toBe(200);
    const events = await sandbox.events();
    expect(events.map(({ type }) => type)).toEqual([
      'engine.ready',
      'hooks.started',
      'hooks.progress',
      'hooks.progress',
      'hooks.completed',
      'replica.status.changed',
      'engine.status.changed',
      'repo.discovered',
      'repo.status.changed',
    ]);
    const outputs = events.filter(({ type }) => type === 'hooks.progress').map(({ payload }) => payload);
    expect(outputs).toMatchObject([{ output: 'one\n' }, { output: 'two\n' }]);
    expect(events.at(-1)?.payload).toMatchObject({ repos: [{ git_diff: { added: 3 } }] });
    expect(await sandbox.replica()).toMatchObject({ state: 'active', has_booted: true });
  });

  test('that ends the start of a replica says that its start hooks are done', async () => {
    const repositoryId = newId();
    const sandbox = await stage.sandbox({ state: 'waking', repositories: [repositoryId] });
    await sandbox.report(booted(newId(), [repository(repositoryId, 0)]));
    expect(await sandbox.replica()).toMatchObject({ state: 'waking', has_booted: false });
    // What git says of the repositories may follow later.
    await sandbox.report(booted(sandbox.bootId));
    const { start_hooks_completed } = await stage.world.db
      .selectFrom('replica_repository')
      .select('start_hooks_completed')
      .where('replica_id', '=', sandbox.replicaId)
      .executeTakeFirstOrThrow();
    expect(start_hooks_completed).toBe(true);
  });

  test('with more output than is kept tells of nothing beyond it', async () => {
    const sandbox = await stage.sandbox({ state: 'waking' });
    const runId = await planHook(sandbox);
    const full = String(16 * 1_048_576 + 4_090);
    await stage.world.db
      .updateTable('hook_run')
      .set({ output_bytes: full })
      .where('id', '=', runId)
      .execute();
    await sandbox.report(output(runId, 'fits'), output(runId, 'does not fit'));
    expect((await sandbox.events()).map(({ payload }) => payload)).toMatchObject([{ output: 'fits' }]);
    const run = await stage.world.db
      .selectFrom('hook_run')
      .select(['output', 'output_chars', 'output_seq'])
      .where('id', '=', runId)
      .executeTakeFirst();
    expect(run).toEqual({ output: 'fits', output_chars: '16', output_seq: 1 });
  });
});
