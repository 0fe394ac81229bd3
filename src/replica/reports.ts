import type { Db } from '../db/database.ts';
import type { EngineEvent, RepositoryState } from '../engine/protocol.ts';
import type { HookRunService } from '../hook-run/service.ts';
import type { SandboxRow } from '../sandbox/service.ts';
import { takeSteps } from './boot-steps.ts';
import { type GatheredEvent, gatherEvents, type HookOutput } from './gather-events.ts';
import { presentRepositoryStatus } from './present.ts';
import { completeStartHooks } from './report-store.ts';
import type { ReplicaEvent, ReplicaRow, ReplicaService } from './service.ts';
import { selectRepositories, updateRepository } from './store.ts';

type TurnEvent = Extract<EngineEvent, { type: `turn.${string}` }>;
type EventOf<T extends EngineEvent['type']> = Extract<EngineEvent, { type: T }>;
type Parts = {
  replicas: ReplicaService;
  hookRuns: Pick<HookRunService, 'report' | 'append'>;
  chats: {
    report(db: Db, row: ReplicaRow, event: TurnEvent): Promise<void>;
    keepCommands(db: Db, row: ReplicaRow, commands: EventOf<'agent.commands'>['payload']): Promise<void>;
    onBooted(db: Db, row: ReplicaRow): Promise<void>;
  };
  newId: () => string;
  now: () => Date;
};
type Taking = {
  db: Db;
  sandbox: SandboxRow;
  row: ReplicaRow;
  /** What followers are told and is not written yet, in order. */
  news: ReplicaEvent[];
};

/**
 * Takes what the engine of a replica's sandbox says. The caller has checked the sequence, so each event comes once and
 * in order; whether it still matters is decided here: a boot that is not the present one changes nothing. The replica's
 * row is held meanwhile, so what can be written together is.
 */
export function createReplicaReports({ replicas, hookRuns, chats, newId, now }: Parts) {
  async function take(db: Db, sandbox: SandboxRow, events: readonly EngineEvent[]): Promise<void> {
    if (!sandbox.replica_id) return;
    const held = await replicas.lock(db, sandbox.replica_id);
    if (held?.sandbox_id !== sandbox.id) return;
    await takeSteps({ db, row: held, events, newId, now });
    const taking: Taking = { db, sandbox, row: held, news: [] };
    for (const event of gatherEvents(events)) {
      if (taking.row.sandbox_id !== sandbox.id) break;
      await takeOne(taking, event);
      // An event may have moved the replica on.
      if (movesReplica(event)) taking.row = (await replicas.lock(db, held.id)) ?? taking.row;
    }
    await tell(taking);
    await replicas.noteProgress(db, held.id);
  }

  async function takeOne(taking: Taking, event: GatheredEvent): Promise<void> {
    const { db, row, sandbox, news } = taking;
    switch (event.type) {
      case 'engine.started': {
        const { version } = event.payload;
        const engine = { version, startedAt: now().toISOString(), incarnation: sandbox.incarnation };
        await replicas.update(db, row, { engine: JSON.stringify(engine) });
        news.push({ type: 'engine.ready', payload: { version } });
        return;
      }
      case 'boot.step':
        return;
      case 'boot.finished':
        return takeBooted(taking, event);
      case 'boot.failed': {
        if (event.payload.bootId !== row.boot_id) return;
        await tell(taking);
        await replicas.report(db, row, 'failed', { error_message: event.payload.message });
        return;
      }
      case 'hook.output':
        return takeOutput(taking, event);
      case 'hook.started':
      case 'hook.finished':
        return takeHook(taking, event);
      case 'repositories.changed':
        await storeStates(taking, event.payload.repositories);
        news.push(await describeStates(taking, 'repo.status.changed'));
        return;
      case 'agent.commands':
        return chats.keepCommands(db, row, event.payload);
      default:
        await tell(taking);
        return chats.report(db, row, event);
    }
  }

  /** Writes the news so far; done before others add theirs, so that all stay in order. */
  async function tell({ db, row, news }: Taking): Promise<void> {
    await replicas.emit(db, row.id, news.splice(0));
  }

  async function takeBooted(taking: Taking, { payload }: EventOf<'boot.finished'>): Promise<void> {
    const { db, row, news } = taking;
    if (payload.bootId !== row.boot_id) return;
    await storeStates(taking, payload.repositories);
    await completeStartHooks(db, row.id);
    const report = {
      filesUploaded: payload.filesWritten,
      variablesSet: payload.variablesSet,
      skillsInstalled: payload.skillsInstalled,
      warnings: payload.warnings,
      updatedAt: now().toISOString(),
    };
    await tell(taking);
    const moved = await replicas.report(db, row, 'booted', {
      environment_report: JSON.stringify(report),
      error_message: null,
      has_booted: true,
    });
    if (!moved) return;
    news.push(await describeStates(taking, 'repo.discovered'));
    await tell(taking);
    await chats.onBooted(db, moved);
  }

  async function takeHook(
    { db, sandbox, news }: Taking,
    event: EventOf<'hook.started' | 'hook.finished'>,
  ): Promise<void> {
    const reported = await hookRuns.report(db, sandbox.id, event);
    if (!reported) return;
    const about = describeRun(reported.run);
    if (event.type === 'hook.started') {
      news.push({ type: 'hooks.started', payload: { running: true, completed: false, ...about } });
      return;
    }
    const { exitCode, timedOut } = event.payload;
    const type = exitCode === 0 ? 'hooks.completed' : 'hooks.failed';
    const payload = { running: false, completed: exitCode === 0, ...about, exitCode, timedOut };
    news.push({ type, payload });
  }

  async function takeOutput({ db, sandbox, news }: Taking, output: HookOutput): Promise<void> {
    const appended = await hookRuns.append(db, sandbox.id, output);
    if (!appended) return;
    const about = describeRun(appended.run);
    for (const text of appended.texts) {
      const payload = { running: true, completed: false, ...about, output: text };
      news.push({ type: 'hooks.progress', payload });
    }
  }

  async function storeStates({ db, row }: Taking, states: readonly RepositoryState[]): Promise<void> {
    for (const state of states) {
      await updateRepository(
        db,
        { replicaId: row.id, repositoryId: state.id },
        {
          branch: state.branch,
          head_commit: state.head,
          base_commit: state.baseCommit,
          added: state.added,
          removed: state.removed,
          diff: state.diff,
          is_diff_cut: state.isDiffCut,
          shadow_problem: state.shadowProblem,
          updated_at: now(),
        },
      );
    }
  }

  async function describeStates({ db, row }: Taking, type: string): Promise<ReplicaEvent> {
    const rows = await selectRepositories(db, [row.id]);
    return { type, payload: { repos: rows.map((each) => presentRepositoryStatus(each)) } };
  }

  return { take };
}

function movesReplica({ type }: GatheredEvent): boolean {
  return (
    type === 'boot.finished' ||
    type === 'boot.failed' ||
    type === 'turn.finished' ||
    type === 'engine.started'
  );
}

function describeRun(run: { name: string; type: string; phase: string; repository_name: string | null }) {
  return { hookName: run.name, hookType: run.type, phase: run.phase, repoName: run.repository_name };
}
