import type { EngineContext } from './context.ts';

/** A step that stops the boot; the cause is what went wrong. */
export class StepFailure extends Error {
  override name = 'StepFailure';
  readonly step: string;

  constructor(step: string, cause: unknown) {
    super(`${step} failed`, { cause });
    this.step = step;
  }
}

export type StepResult = { outcome: 'done' | 'skipped' | 'failed'; detail: string | null };

/** Runs one step of a boot and reports how it went and how long it took. */
export async function runStep<T>({
  context,
  bootId,
  step: name,
  work,
  describe = () => ({ outcome: 'done', detail: null }),
}: {
  context: EngineContext;
  bootId: string;
  step: string;
  work: () => T | Promise<T>;
  describe?: (result: T) => StepResult;
}): Promise<T> {
  const step = name.slice(0, 200);
  const startedAt = context.now().toISOString();
  const begin = performance.now();
  const report = ({ outcome, detail }: StepResult) => {
    const durationMs = Math.max(0, performance.now() - begin);
    return context.report({
      type: 'boot.step',
      payload: { bootId, step, startedAt, durationMs, outcome, detail },
    });
  };
  let result: T;
  try {
    result = await work();
  } catch (error) {
    await report({ outcome: 'failed', detail: null });
    throw new StepFailure(step, error);
  }
  await report(describe(result));
  return result;
}
