import { explainFailure } from './boot-failure.ts';
import { StepFailure } from './boot-step.ts';
import type { EngineContext } from './context.ts';
import { performBoot } from './perform-boot.ts';
import type { BootPlan, EngineInfo } from './protocol.ts';
import { EngineRefusal } from './refusal.ts';
import type { Repositories } from './repositories.ts';

export type Boot = {
  /** Begins it and returns. The same plan twice is one boot; another one has to wait until the first has ended. */
  start(plan: BootPlan): void;
  info(): EngineInfo['boot'];
  /** Ends what is under way. */
  close(): Promise<void>;
};

export function createBoot({
  context,
  repositories,
  adopt,
  warnings,
}: {
  context: EngineContext;
  repositories: Repositories;
  /** Makes variables and repositories of the plan those of the workspace. */
  adopt(plan: BootPlan): void;
  /** What the user was warned of since the engine has started. */
  warnings(): string[];
}): Boot {
  const closing = new AbortController();
  let info: EngineInfo['boot'] = null;
  let ended: Promise<void> = Promise.resolve();

  return {
    start(plan) {
      if (info?.id === plan.id) return;
      if (info?.state === 'running') {
        throw new EngineRefusal(409, `The boot ${info.id} is running. Wait until it has ended.`);
      }
      const current = { id: plan.id, state: 'running' as NonNullable<EngineInfo['boot']>['state'] };
      info = current;
      adopt(plan);
      ended = run(plan).then((state) => {
        current.state = state;
      });
    },
    info: () => info && { ...info },
    async close() {
      closing.abort();
      await ended;
    },
  };

  async function run(plan: BootPlan): Promise<'finished' | 'failed'> {
    const { signal } = closing;
    try {
      await performBoot({ plan, context, repositories, signal, warnings });
      return 'finished';
    } catch (error) {
      if (!signal.aborted) await tell(plan.id, error);
      return 'failed';
    }
  }

  async function tell(bootId: string, error: unknown): Promise<void> {
    const { step, cause } = error instanceof StepFailure ? error : { step: 'boot', cause: error };
    const reason = cause instanceof Error ? (cause.cause ?? cause) : cause;
    context.log(`boot failed at ${step}: ${String(reason)}`);
    const payload = { bootId, step, message: explainFailure(cause).slice(0, 4_000) };
    try {
      await context.report({ type: 'boot.failed', payload });
    } catch (reportError) {
      context.log(`the failed boot could not be reported: ${String(reportError)}`);
    }
  }
}
