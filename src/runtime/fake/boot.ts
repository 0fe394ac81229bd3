import { createHash } from 'node:crypto';
import type {
  BootHook,
  BootPlan,
  BootRepository,
  EngineReport,
  RepositoryState,
} from '../../engine/protocol.ts';
import type { FakeDisk } from './machine.ts';

type Options = {
  plan: BootPlan;
  disk: FakeDisk;
  report(report: EngineReport): void;
  now: () => Date;
};

/**
 * Pretends to boot: repositories have a made-up commit, hooks print themselves, `exit N` ends one with that status, and
 * `hang` never ends.
 */
export function fakeBoot({ plan, disk, report, now }: Options): 'running' | 'finished' | 'failed' {
  const step = (name: string, outcome: 'done' | 'failed') =>
    report({
      type: 'boot.step',
      payload: {
        bootId: plan.id,
        step: name,
        startedAt: now().toISOString(),
        durationMs: 0,
        outcome,
        detail: null,
      },
    });

  for (const repository of plan.repositories) {
    if (!disk.repositories.has(repository.id)) disk.repositories.set(repository.id, checkOut(repository));
    step(`repository ${repository.name}`, 'done');
  }
  for (const { path, contentBase64 } of plan.files) {
    disk.files.set(path, Buffer.from(contentBase64, 'base64').toString());
  }
  step('files', 'done');
  for (const hook of plan.hooks) {
    const exitCode = runHook(hook, report);
    if (exitCode === null) return 'running';
    step(`hook ${hook.phase}`, exitCode === 0 ? 'done' : 'failed');
    if (exitCode !== 0 && hook.phase === 'warm' && plan.failOn === 'warm_hook') {
      const message = `The warm hook ended with status ${exitCode}.`;
      report({ type: 'boot.failed', payload: { bootId: plan.id, step: `hook ${hook.phase}`, message } });
      return 'failed';
    }
  }
  report({
    type: 'boot.finished',
    payload: {
      bootId: plan.id,
      repositories: [...disk.repositories.values()],
      filesWritten: plan.files.map(({ path }) => path),
      variablesSet: Object.keys(plan.variables),
      skillsInstalled: plan.skills.map(({ slug }) => slug),
      warnings: [],
    },
  });
  return 'finished';
}

function checkOut({ id, url, branch }: BootRepository): RepositoryState {
  const commit = createHash('sha1').update(`${url} ${branch}`).digest('hex');
  return {
    id,
    branch: branch ?? 'main',
    head: commit,
    baseCommit: commit,
    added: 0,
    removed: 0,
    diff: '',
    isDiffCut: false,
    shadowProblem: null,
  };
}

/** Its status; null when it does not end. */
function runHook({ runId, commands }: BootHook, report: Options['report']): number | null {
  report({ type: 'hook.started', payload: { runId } });
  let exitCode = 0;
  for (const command of commands) {
    report({ type: 'hook.output', payload: { runId, text: `fake: ${command}\n` } });
    if (command === 'hang') return null;
    exitCode = Number(/^exit (\d+)$/.exec(command)?.[1] ?? 0);
    if (exitCode !== 0) break;
  }
  report({ type: 'hook.finished', payload: { runId, exitCode, timedOut: false } });
  return exitCode;
}
