import { runStep, type StepResult } from './boot-step.ts';
import type { EngineContext } from './context.ts';
import { fitStates } from './diff-fit.ts';
import { fitVariables } from './environment.ts';
import { isInWorkspaces, placeFiles } from './files.ts';
import { gitConfiguration } from './gateway-git.ts';
import { writeHomeFile } from './home-file.ts';
import { placementProblem } from './home-folder.ts';
import { type HookOutcome, runHook } from './hooks.ts';
import { writeMcpServers } from './mcp.ts';
import type { BootHook, BootPlan, BootRepository } from './protocol.ts';
import type { Repositories } from './repositories.ts';
import { installSkills } from './skills.ts';
import { writeSystemPrompt } from './system-prompt.ts';
import { tidyHome } from './tidy-home.ts';

/** No clone takes longer; the control plane may give up sooner. */
const REPOSITORIES_MS = 30 * 60_000;
const CLONES_AT_ONCE = 4;

type Options = {
  plan: BootPlan;
  context: EngineContext;
  repositories: Repositories;
  signal: AbortSignal;
  /** What the user was warned of by other parts of the engine. */
  warnings(): string[];
};

/**
 * Makes the workspace what the plan says: repositories and everything that stands beside them at once, then files inside
 * of repositories, then hooks one after the other. A step that stops it throws a `StepFailure`.
 */
export async function performBoot(options: Options): Promise<void> {
  const { plan, context, repositories, signal } = options;
  const { id: bootId } = plan;
  const { home } = context;
  const fitted = fitVariables(plan.variables);
  const warnings = [...(plan.warnings ?? []), ...fitted.warnings];
  const filesWritten: string[] = [];
  const skillsInstalled: string[] = [];

  tidyHome(home, context);
  await placeOwn('git', { what: 'The settings of git', work: () => writeGitConfiguration(home, plan) });
  const failing = new AbortController();
  await settle([...inLanes(plan.repositories, prepare), placeBeside()], () => failing.abort());
  await place(plan.files.filter(({ path }) => isInWorkspaces(path)));
  for (const hook of plan.hooks) await run(hook);

  const rest = {
    bootId,
    filesWritten: filesWritten.slice(0, 1_000),
    variablesSet: Object.keys(fitted.variables).slice(0, 2_000),
    skillsInstalled: skillsInstalled.slice(0, 2_000),
    warnings: [...options.warnings(), ...warnings].slice(0, 100).map((warning) => warning.slice(0, 2_000)),
  };
  // What git says of the repositories takes longer than the rest of a claim, so the workspace is ready before it.
  await context.report({ type: 'boot.finished', payload: { ...rest, repositories: [] } });
  reportStates().catch((error: unknown) =>
    context.log(`the states of the repositories are unknown: ${String(error)}`),
  );

  async function reportStates(): Promise<void> {
    const states = fitStates(await repositories.states());
    await context.report({ type: 'repositories.changed', payload: { repositories: states } });
  }

  function step<T>(
    name: string,
    work: () => T | Promise<T>,
    describe?: (result: T) => StepResult,
  ): Promise<T> {
    return runStep({ context, bootId, step: name, work, ...(describe && { describe }) });
  }

  async function prepare(repository: BootRepository): Promise<void> {
    const limits = [signal, failing.signal, AbortSignal.timeout(REPOSITORIES_MS)];
    await step(
      `repository ${repository.name}`,
      () => repositories.prepare(repository, AbortSignal.any(limits)),
      (result) => ({ outcome: result === 'kept' ? 'skipped' : 'done', detail: result }),
    );
  }

  async function placeBeside(): Promise<void> {
    await place(plan.files.filter(({ path }) => !isInWorkspaces(path)));
    await placeOwn('skills', {
      what: 'The skills',
      work() {
        const skills = installSkills(home, plan.skills);
        skillsInstalled.push(...skills.installed);
        warnings.push(...skills.warnings);
      },
    });
    await placeOwn('mcp', {
      what: 'The MCP servers',
      work: () => writeMcpServers(home, plan.mcpServers),
    });
    await placeOwn('system prompt', {
      what: 'The system prompt',
      work: () => writeSystemPrompt(home, plan.systemPrompt),
    });
  }

  /** What processes of the workspace have put in the way of it must not keep the workspace from its start. */
  async function placeOwn(name: string, { what, work }: { what: string; work(): void }): Promise<void> {
    await step(
      name,
      () => {
        try {
          work();
          return null;
        } catch (error) {
          const problem = placementProblem(error);
          if (problem === null) throw error;
          const sentence = `${what} could not be written to ~/.replica: ${problem}.`;
          warnings.push(sentence);
          return sentence;
        }
      },
      (problem) => ({ outcome: problem === null ? 'done' : 'failed', detail: problem }),
    );
  }

  async function place(files: BootPlan['files']): Promise<void> {
    if (files.length === 0) return;
    const placed = await step('files', () => placeFiles(home, files));
    filesWritten.push(...placed.written);
    warnings.push(...placed.warnings);
  }

  async function run(hook: BootHook): Promise<void> {
    const subject = hook.repository === null ? '' : ` of ${hook.repository}`;
    const mayFail = plan.failOn === 'nothing' || hook.phase !== 'warm';
    await step(
      `hook ${hook.phase}${subject}`,
      async () => {
        const outcome = await runHook({ hook, context, signal });
        const problem = describeHook(outcome);
        if (problem === null) return null;
        const sentence = `The ${hook.phase} hook${subject} ${problem}.`;
        if (!mayFail) throw new Error(`${sentence} Its log says more.`);
        warnings.push(sentence);
        return problem;
      },
      (problem) => ({ outcome: problem === null ? 'done' : 'failed', detail: problem }),
    );
  }
}

function describeHook({ exitCode, timedOut }: HookOutcome): string | null {
  if (timedOut) return 'took too long and was ended';
  if (exitCode === null) return 'could not be run';
  return exitCode === 0 ? null : `ended with exit code ${exitCode}`;
}

function writeGitConfiguration(home: string, { gitIdentity, repositories }: BootPlan): void {
  const text = gitConfiguration({ identity: gitIdentity, repositories });
  writeHomeFile({ home, parts: ['.replica', 'gitconfig'], content: Buffer.from(text), mode: 0o644 });
}

/** A few at a time; a lane ends with its first failure. */
function inLanes<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void>[] {
  const waiting = [...items];
  return Array.from({ length: Math.min(CLONES_AT_ONCE, items.length) }, async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  });
}

/** Waits for all, also after a failure, of which the first counts. */
async function settle(work: Promise<void>[], onFailure: () => void): Promise<void> {
  const failures: unknown[] = [];
  const note = (error: unknown) => {
    failures.push(error);
    onFailure();
  };
  await Promise.all(work.map((promise) => promise.catch(note)));
  if (failures.length > 0) throw failures[0];
}
