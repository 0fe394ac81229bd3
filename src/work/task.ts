import type { Logger } from 'pino';
import type { z } from 'zod';

export type TaskContext = {
  /** Aborts when the job must end: the process stops, or it lost the right to run this job. */
  signal: AbortSignal;
  /** The first attempt is 1. */
  attempt: number;
  maxAttempts: number;
  log: Logger;
  /** The minute of the schedule that this job stands for; absent for other jobs. */
  firedAt?: Date;
};

export type Task = {
  name: string;
  run(payload: unknown, context: TaskContext): Promise<void>;
};

export type Tasks = readonly Task[];

/** Thrown by a task when no further attempt can help. */
export class PermanentError extends Error {
  override name = 'PermanentError';
}

/** Binds a handler to the schema of its payload; a payload that does not fit is a `PermanentError`. */
export function defineTask<Schema extends z.ZodType>(definition: {
  name: string;
  payload: Schema;
  run(payload: z.output<Schema>, context: TaskContext): Promise<void>;
}): Task {
  return {
    name: definition.name,
    async run(payload, context) {
      const parsed = definition.payload.safeParse(payload);
      if (!parsed.success) throw new PermanentError(`The payload does not fit: ${summarize(parsed.error)}.`);
      await definition.run(parsed.data, context);
    },
  };
}

/** Names places and rules only: messages of issues may quote the payload. */
function summarize(error: z.ZodError): string {
  return error.issues
    .map((issue) => `${issue.path.map(String).join('.') || '(root)'} ${issue.code}`)
    .join(', ');
}
