import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { EngineReport } from '../../src/engine/protocol.ts';
import { createHookRunService } from '../../src/hook-run/service.ts';
import { newId } from '../../src/lib/ids.ts';
import type { ReplicaState } from '../../src/replica/lifecycle.ts';
import { insertReplica } from '../chat/replica-row.ts';
import { type ApiAnswer, type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let org: Organization;
beforeAll(async () => {
  world = await startWorld({ environment: { REPLICA_RUNTIME: 'fake', REPLICA_WARM_POOL_SIZE: '0' } });
});
beforeEach(async () => {
  org = await world.org();
});
afterAll(() => world?.close());

const started = new Date('2026-07-01T10:00:00.000Z');
const refusal = ({ status, headers }: ApiAnswer) => [status, headers.get('x-service-error-code')];
const replica = (state: ReplicaState = 'active') =>
  insertReplica(world.db, { organizationId: org.id, state });

type HookReport = Extract<EngineReport, { type: `hook.${string}` }>;
type Ran = {
  phase?: 'warm' | 'start';
  type?: 'global' | 'environment' | 'repository';
  repositoryName?: string;
  commands?: string[];
  output?: string[];
  /** Absent while it runs. */
  exitCode?: number | null;
  timedOut?: boolean;
  /** The boot is lost before it begins. */
  waits?: boolean;
};

type Owner = { replicaId?: string; warmWorkspaceId?: string; sandboxId?: string };

/** Runs hooks as an engine reports them, all in one boot. */
async function boot(owner: Owner, at: Date, hooks: Ran[], bootId = newId()) {
  const runs = createHookRunService({ now: () => at });
  const sandboxId = owner.sandboxId ?? newId();
  const planned = await runs.plan(
    world.db,
    { organizationId: org.id, ...owner, sandboxId },
    {
      id: bootId,
      hooks: hooks.map(({ phase = 'start', type = 'environment', commands = ['make'], repositoryName }) => ({
        phase,
        type,
        name: repositoryName ?? type,
        repositoryName: repositoryName ?? null,
        repository: null,
        commands,
        timeoutMs: 1_000,
        separate: false,
      })),
    },
  );
  const report = (said: HookReport) =>
    runs.report(world.db, sandboxId, { ...said, seq: 1, at: at.toISOString() });
  for (const [index, { output = [], exitCode, timedOut = false, waits = false }] of hooks.entries()) {
    const runId = planned[index]?.runId ?? '';
    if (waits) continue;
    await report({ type: 'hook.started', payload: { runId } });
    for (const text of output) await report({ type: 'hook.output', payload: { runId, text } });
    if (exitCode === undefined) continue;
    await report({ type: 'hook.finished', payload: { runId, exitCode, timedOut } });
  }
}

describe('the hook logs of a replica', () => {
  test('show each hook with what it wrote and how it ended', async () => {
    const id = await replica();
    await boot({ replicaId: id }, started, [
      {
        phase: 'warm',
        type: 'global',
        commands: ['apt update', 'true'],
        output: ['a\n', 'b\n'],
        exitCode: 0,
      },
      { type: 'environment', output: ['oh no'], exitCode: 2 },
      {
        type: 'repository',
        repositoryName: 'app',
        commands: ['npm ci', 'npm start'],
        exitCode: null,
        timedOut: true,
      },
      { type: 'repository', repositoryName: 'web', output: ['so far'] },
    ]);
    const { status, body } = await org.call('GET', `/v1/replica/${id}/hooks`);
    expect(status).toBe(200);
    const common = { outputTruncated: false, timedOut: false, executedAt: started.toISOString() };
    expect(body).toEqual({
      warm_hooks: {
        logs: [
          {
            ...common,
            hookName: 'global',
            hookType: 'global',
            hookScript: 'apt update\ntrue',
            output: 'a\nb\n',
            outputTotalChars: 4,
            exitCode: 0,
          },
        ],
      },
      start_hooks: {
        logs: [
          {
            ...common,
            hookName: 'environment',
            hookType: 'environment',
            repoName: null,
            hookCommands: ['make'],
            output: 'oh no',
            outputTotalChars: 5,
            exitCode: 2,
          },
          {
            ...common,
            hookName: 'app',
            hookType: 'repository',
            repoName: 'app',
            hookCommands: ['npm ci', 'npm start'],
            output: '',
            outputTotalChars: 0,
            exitCode: null,
            timedOut: true,
          },
          {
            ...common,
            hookName: 'web',
            hookType: 'repository',
            repoName: 'web',
            hookCommands: ['make'],
            output: 'so far',
            outputTotalChars: 6,
            exitCode: null,
          },
        ],
      },
    });
  });

  test('hold the first 100,000 characters, and the whole log is beside them', async () => {
    const id = await replica();
    const pieces = Array.from({ length: 25 }, (_, n) => String.fromCodePoint(0x1f600 + n).repeat(9_000));
    await boot({ replicaId: id }, started, [
      { phase: 'warm', exitCode: 0 },
      { output: pieces, exitCode: 0 },
    ]);
    const { body } = await org.call('GET', `/v1/replica/${id}/hooks`);
    const [log] = body.start_hooks.logs;
    expect(log).toMatchObject({ outputTruncated: true, outputTotalChars: 225_000 });
    expect([...log.output]).toHaveLength(100_000);
    expect(pieces.join('').startsWith(log.output)).toBe(true);
    const whole = await org.call('GET', `/v1/replica/${id}/hooks/1/output`);
    expect(whole.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(whole.body === pieces.join('')).toBe(true);
    expect((await org.call('GET', `/v1/replica/${id}/hooks/0/output`)).body).toBe('');
  });

  test('are kept up to a limit; what is written beyond it is counted', async () => {
    const id = await replica();
    const piece = 'x'.repeat(60_000);
    const fits = Math.floor((16 * 1_048_576) / piece.length);
    const hooks = createHookRunService({ now: () => started });
    const sandboxId = newId();
    await boot({ replicaId: id, sandboxId }, started, [{}]);
    const [run] = await hooks.runsOf(world.db, { replicaId: id, warmWorkspaceIds: [] });
    const runId = run?.id ?? '';
    const append = (texts: string[]) => hooks.append(world.db, sandboxId, { runId, texts });
    expect((await append(Array(fits).fill(piece)))?.texts).toHaveLength(fits);
    expect((await append([piece, '[cut]\n', piece]))?.texts).toEqual(['[cut]\n']);
    const { body } = await org.call('GET', `/v1/replica/${id}/hooks`);
    const written = (fits + 2) * piece.length + 6;
    expect(body.start_hooks.logs[0]).toMatchObject({ outputTruncated: true, outputTotalChars: written });
    const whole = await org.call('GET', `/v1/replica/${id}/hooks/0/output`);
    expect(whole.body.length).toBe(fits * piece.length + 6);
    expect(whole.body.endsWith('[cut]\n')).toBe(true);
    expect(await hooks.append(world.db, newId(), { runId, texts: ['of another sandbox'] })).toBeNull();
  });

  test('of a boot that was lost end when the next one is planned', async () => {
    const id = await replica();
    const sandboxId = newId();
    const bootId = newId();
    const lost: Ran[] = [{ output: ['done'], exitCode: 0 }, { output: ['so far'] }, { waits: true }];
    await boot({ replicaId: id, sandboxId }, started, lost, bootId);
    // The same boot is planned again when its first try did not get through.
    await boot(
      { replicaId: id, sandboxId },
      started,
      [{ waits: true }, { waits: true }, { waits: true }],
      bootId,
    );
    const statuses = async () => {
      const runs = world.db.selectFrom('hook_run').where('replica_id', '=', id);
      return runs
        .select(['status', 'exit_code', 'finished_at'])
        .orderBy('created_at')
        .orderBy('position')
        .execute();
    };
    expect((await statuses()).map(({ status }) => status)).toEqual(['finished', 'running', 'waiting']);
    const later = new Date(started.getTime() + 60_000);
    await boot({ replicaId: id }, later, [{}]);
    const left = { status: 'finished', exit_code: null, finished_at: later };
    expect(await statuses()).toMatchObject([{ exit_code: 0 }, left, left, { status: 'running' }]);
    const { body } = await org.call('GET', `/v1/replica/${id}/hooks`);
    // What never began has no log.
    expect(body.start_hooks.logs).toMatchObject([
      { output: 'done', exitCode: 0 },
      { output: 'so far', exitCode: null },
      { output: '', exitCode: null },
    ]);
  });

  test.each([
    ['waking', true, false],
    ['preparing', true, false],
    ['active', true, true],
    ['waking', false, true],
  ] as const)(
    'are not complete when a boot of a %s replica is planned',
    async (state, isPresent, expected) => {
      const id = await replica(state);
      const bootId = newId();
      const boot_id = isPresent ? bootId : newId();
      await world.db.updateTable('replica').set({ boot_id }).where('id', '=', id).execute();
      const repository = {
        replica_id: id,
        repository_id: newId(),
        position: 0,
        name: 'app',
        url: 'https://a.example',
      };
      await world.db
        .insertInto('replica_repository')
        .values({ ...repository, start_hooks_completed: true, updated_at: started })
        .execute();
      await boot({ replicaId: id }, started, [], bootId);
      const { start_hooks_completed } = await world.db
        .selectFrom('replica_repository')
        .select('start_hooks_completed')
        .where('replica_id', '=', id)
        .executeTakeFirstOrThrow();
      expect(start_hooks_completed).toBe(expected);
    },
  );

  test('begin with those of the warm workspace as which the replica began', async () => {
    const environment = await org.call('POST', '/v1/environments', { name: 'web' });
    const pool = await org.call('GET', `/v1/environments/${environment.body.environment.id}/warm-hooks`);
    const warmWorkspaceId = newId();
    await world.db
      .insertInto('warm_pool_workspace')
      .values({
        id: warmWorkspaceId,
        organization_id: org.id,
        warm_pool_id: pool.body.warm_pool.id,
        status: 'assigned',
        generation: 1,
        created_at: started,
        updated_at: started,
      })
      .execute();
    const id = await replica();
    await world.db
      .updateTable('replica')
      .set({ warm_workspace_id: warmWorkspaceId })
      .where('id', '=', id)
      .execute();
    await boot({ replicaId: id }, started, [{ output: ['start'], exitCode: 0 }]);
    await boot({ warmWorkspaceId }, started, [
      { phase: 'warm', type: 'environment', output: ['warm'], exitCode: 0 },
    ]);
    const { body } = await org.call('GET', `/v1/replica/${id}/hooks`);
    expect(body.warm_hooks.logs).toMatchObject([{ hookType: 'environment', output: 'warm' }]);
    expect(body.start_hooks.logs).toMatchObject([{ output: 'start' }]);
    const outputs = [0, 1].map(async (index) => org.call('GET', `/v1/replica/${id}/hooks/${index}/output`));
    expect((await Promise.all(outputs)).map((answer) => answer.body)).toEqual(['warm', 'start']);
  });

  test('show the latest 50 of each phase, oldest first, and places count over those', async () => {
    const id = await replica();
    await boot({ replicaId: id }, started, [{ phase: 'warm', output: ['warm'], exitCode: 0 }]);
    for (let n = 1; n <= 30; n += 1) {
      const at = new Date(started.getTime() + n * 60_000);
      await boot({ replicaId: id }, at, [
        { output: [`${n}a`], exitCode: 0 },
        { output: [`${n}b`], exitCode: 0 },
      ]);
    }
    const { body } = await org.call('GET', `/v1/replica/${id}/hooks`);
    const outputs = body.start_hooks.logs.map((log: { output: string }) => log.output);
    expect(outputs).toHaveLength(50);
    expect([outputs[0], outputs[1], outputs[49]]).toEqual(['6a', '6b', '30b']);
    expect((await org.call('GET', `/v1/replica/${id}/hooks/0/output`)).body).toBe('warm');
    expect((await org.call('GET', `/v1/replica/${id}/hooks/2/output`)).body).toBe('6b');
    expect((await org.call('GET', `/v1/replica/${id}/hooks/50/output`)).body).toBe('30b');
    expect(refusal(await org.call('GET', `/v1/replica/${id}/hooks/51/output`))).toEqual([404, 'not_found']);
  });

  test.each(['1', '-1', '0.5', 'x', '%00', '9'.repeat(300), newId()])('have nothing at %s', async (index) => {
    const id = await replica();
    await boot({ replicaId: id }, started, [{ output: ['here'], exitCode: 0 }]);
    expect(refusal(await org.call('GET', `/v1/replica/${id}/hooks/${index}/output`))).toEqual([
      404,
      'not_found',
    ]);
  });

  test('are there while the replica sleeps, unless the caller wants it strict', async () => {
    const id = await replica('sleeping');
    await boot({ replicaId: id }, started, [{ output: ['here'], exitCode: 0 }]);
    for (const path of [`/v1/replica/${id}/hooks`, `/v1/replica/${id}/hooks/0/output`]) {
      expect((await org.call('GET', path)).status).toBe(200);
      const strict = await org.call('GET', path, undefined, { prefer: 'handling=strict' });
      expect(refusal(strict)).toEqual([409, 'invalid_state']);
    }
  });

  test('are refused when the replica has failed, is foreign, or never was', async () => {
    const failed = await replica('failed');
    const id = await replica();
    await boot({ replicaId: id }, started, [{ output: ['here'], exitCode: 0 }]);
    const other = await world.org();
    for (const path of ['hooks', 'hooks/0/output']) {
      expect(refusal(await org.call('GET', `/v1/replica/${failed}/${path}`))).toEqual([409, 'invalid_state']);
      expect(refusal(await other.call('GET', `/v1/replica/${id}/${path}`))).toEqual([404, 'not_found']);
      expect(refusal(await org.call('GET', `/v1/replica/${newId()}/${path}`))).toEqual([404, 'not_found']);
    }
  });
});
