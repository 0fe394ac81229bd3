import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { EngineContext } from './context.ts';
import { createHookOutput, type HookOutput } from './hook-output.ts';
import { type OutputPipe, openOutputPipe } from './output-pipe.ts';
import { killProcesses, TREE_VARIABLE } from './process-tree.ts';
import type { BootHook } from './protocol.ts';

export type HookOutcome = { exitCode: number | null; timedOut: boolean };

/** What a shell says of a program that was killed for taking too long. */
const TIMED_OUT = 124;
/** How long output is waited for after the shell's end, when something it has started goes on running. */
const LAST_WORDS_MS = 100;
const KILL_MS = 5_000;

/**
 * Runs a hook and reports its start, its output as it comes, and its end. A hook ends with its shell: what it leaves
 * running in the background goes on, unheard. `separate` commands have a shell and a time-out each, and the first that
 * fails is the last; otherwise all are one script.
 */
export async function runHook({
  hook,
  context,
  signal,
}: {
  hook: BootHook;
  context: EngineContext;
  signal: AbortSignal;
}): Promise<HookOutcome> {
  const { runId } = hook;
  await context.report({ type: 'hook.started', payload: { runId } });
  const output = createHookOutput({
    pass: (text) => context.report({ type: 'hook.output', payload: { runId, text } }),
  });
  const outcome = await runScripts({ hook, context, signal, output });
  await output.end();
  await context.report({ type: 'hook.finished', payload: { runId, ...outcome } });
  return outcome;
}

type Run = { hook: BootHook; context: EngineContext; signal: AbortSignal; output: HookOutput };
/** How a script ended, and what there is to say about it after its last words. */
type ScriptEnd = HookOutcome & { remark?: string };

async function runScripts(run: Run): Promise<HookOutcome> {
  const { hook, context, output } = run;
  let pipe: OutputPipe;
  try {
    pipe = await openOutputPipe(path.join(context.folder, 'engine'), `hook-${hook.runId}`);
  } catch (error) {
    output.say(notStarted(error));
    return { exitCode: null, timedOut: false };
  }
  listen(pipe, output);
  const { remark, ...outcome } = await runInTurn(run, pipe.writeEnd);
  pipe.closeWriteEnd();
  await Promise.race([once(pipe.readEnd, 'close').catch(() => {}), delay(LAST_WORDS_MS)]);
  // Reading goes on, or a server in the background would be killed by its own next line.
  pipe.readEnd.removeAllListeners('data').resume().unref();
  if (remark) output.say(remark);
  return outcome;
}

function listen({ readEnd }: OutputPipe, output: HookOutput): void {
  readEnd.on('error', () => {});
  readEnd.on('data', async (bytes: Buffer) => {
    readEnd.pause();
    await output.write(bytes).catch(() => {});
    readEnd.resume();
  });
}

async function runInTurn(run: Run, writeEnd: number): Promise<ScriptEnd> {
  const { runId, separate, commands } = run.hook;
  const scripts = separate ? commands : [commands.join('\n')];
  let end: ScriptEnd = { exitCode: 0, timedOut: false };
  for (const [index, script] of scripts.entries()) {
    end = await runScript(run, { script, tree: `${runId}.${index}`, writeEnd });
    if (end.exitCode !== 0) break;
  }
  return end;
}

async function runScript(
  { hook, context, signal }: Run,
  { script, tree, writeEnd }: { script: string; tree: string; writeEnd: number },
): Promise<ScriptEnd> {
  const none = { exitCode: null, timedOut: false };
  if (signal.aborted) return none;
  let child: ChildProcess;
  try {
    child = startShell({ hook, context, script, tree, writeEnd });
  } catch (error) {
    return { ...none, remark: notStarted(error) };
  }
  const ended = awaitEnd(child);
  const timer = new AbortController();
  const late = delay(hook.timeoutMs, 'late' as const, { signal: AbortSignal.any([signal, timer.signal]) });
  const first = await Promise.race([ended, late.catch(() => 'aborted' as const)]);
  timer.abort();
  if (first !== 'late' && first !== 'aborted') return first;
  await killProcesses({ variable: TREE_VARIABLE, value: tree, ...(child.pid && { session: child.pid }) });
  await Promise.race([ended, delay(KILL_MS, undefined, { ref: false })]);
  if (first === 'aborted') return none;
  const remark = `It did not end within ${hook.timeoutMs / 1_000} s and was killed with all it had started.`;
  return { exitCode: TIMED_OUT, timedOut: true, remark };
}

function startShell(options: {
  hook: BootHook;
  context: EngineContext;
  script: string;
  tree: string;
  writeEnd: number;
}): ChildProcess {
  const { hook, context, script, tree, writeEnd } = options;
  return spawn(existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh', ['-c', script], {
    cwd: hookFolder(hook, context),
    env: {
      ...context.childEnvironment(),
      REPLICA_HOOK_PHASE: hook.phase,
      REPLICA_HOOK_RUN_ID: hook.runId,
      [TREE_VARIABLE]: tree,
    },
    stdio: ['ignore', writeEnd, writeEnd],
    // A session of its own: it has no terminal, and can be told from the engine's.
    detached: true,
  });
}

function awaitEnd(child: ChildProcess): Promise<ScriptEnd> {
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ exitCode: null, timedOut: false, remark: notStarted(error) }));
    child.on('exit', (code, name) => {
      resolve({ exitCode: code ?? (name ? 128 + os.constants.signals[name] : null), timedOut: false });
    });
  });
}

function notStarted(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return `It could not be started: ${code ?? message}.`;
}

/** The folder of its repository, or that of the only one, or the one above all. */
export function hookFolder(
  { repository }: Pick<BootHook, 'repository'>,
  context: Pick<EngineContext, 'home' | 'repositories'>,
): string {
  const workspaces = path.join(context.home, 'workspaces');
  mkdirSync(workspaces, { recursive: true });
  const repositories = context.repositories();
  const own = repositories.find(({ id, name }) => id === repository || name === repository);
  const chosen = own ?? (repository === null && repositories.length === 1 ? repositories[0] : undefined);
  const folder = chosen ? path.join(workspaces, chosen.name) : workspaces;
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? folder : workspaces;
}
