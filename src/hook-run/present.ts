import type { z } from 'zod';
import type { hookLogOperations } from '../contract/hook-log.ts';
import type { HookRunRow } from './service.ts';

type Logs = z.input<(typeof hookLogOperations)['listHookLogs']['answers'][200]>;
type WarmLog = Logs['warm_hooks']['logs'][number];
type StartLog = Logs['start_hooks']['logs'][number];

/** Runs as logs, each under the phase in which it ran. */
export function presentLogs(runs: readonly HookRunRow[]): Logs {
  return {
    warm_hooks: { logs: runs.filter(({ phase }) => phase === 'warm').map(presentWarmLog) },
    start_hooks: { logs: runs.filter(({ phase }) => phase === 'start').map(presentStartLog) },
  };
}

function presentWarmLog(run: HookRunRow): WarmLog {
  return {
    ...presentLog(run),
    // The check constraint of the column allows nothing else.
    hookType: run.type as WarmLog['hookType'],
    hookScript: run.commands.join('\n'),
  };
}

function presentStartLog(run: HookRunRow): StartLog {
  return {
    ...presentLog(run),
    hookType: run.type === 'repository' ? 'repository' : 'environment',
    repoName: run.repository_name,
    hookCommands: run.commands,
  };
}

function presentLog(run: HookRunRow) {
  const totalChars = Number(run.output_chars);
  return {
    hookName: run.name,
    output: run.output,
    outputTruncated: totalChars > [...run.output].length,
    outputTotalChars: totalChars,
    exitCode: run.exit_code,
    timedOut: run.timed_out,
    executedAt: run.executed_at?.toISOString() ?? null,
  };
}
