import { z } from 'zod';
import { AppError, notFound } from '../../src/contract/error.ts';
import type { Operation } from '../../src/contract/operation.ts';
import type { Handlers } from '../../src/http/handler.ts';
import type { StreamLimits } from '../../src/http/send-stream.ts';
import type { SseFrame } from '../../src/http/sse.ts';
import { startTestApp } from './test-app.ts';

const tick = z.object({ n: z.int(), text: z.string().optional() }).meta({ id: 'Tick' });

/** Operations that stream what a test has written down under the name in the path. */
export const streamOperations = {
  watch: {
    method: 'GET',
    path: '/v1/watch/{name}',
    tag: 'Replicas',
    summary: 'Watch',
    access: 'member',
    params: z.object({ name: z.string() }),
    query: z.object({ from: z.coerce.number().default(0) }),
    headers: z.object({ 'last-event-id': z.string().regex(/^\d+$/).optional() }),
    content: 'text/event-stream',
    answers: { 200: tick },
  },
  trial: {
    method: 'POST',
    path: '/v1/trials/{name}',
    tag: 'Hooks',
    summary: 'Try something out',
    access: 'member',
    params: z.object({ name: z.string() }),
    body: z.object({ count: z.int().min(1) }),
    content: 'text/event-stream',
    answers: { 200: tick },
  },
} as const satisfies Record<string, Operation>;

export type Script = (stream: {
  signal: AbortSignal;
  lastEventId: number;
}) => AsyncIterable<SseFrame<z.input<typeof tick>>>;

/** The road with streams whose frames a test writes down. */
export async function startScriptedStreams(streamLimits: Partial<StreamLimits> = {}) {
  const scripts: Record<string, Script> = {};
  /** What became of a script: it runs, it is through, or why it was ended. */
  const fates: Record<string, string> = {};

  async function* followed(name: string, script: Script, stream: Parameters<Script>[0]) {
    fates[name] = 'running';
    try {
      yield* script(stream);
    } finally {
      fates[name] = stream.signal.aborted ? (stream.signal.reason as Error).message : 'through';
    }
  }

  const handlers: Handlers<typeof streamOperations> = {
    async watch({ params: { name }, query, headers }) {
      const script = scripts[name];
      if (!script) throw notFound('Script');
      const lastEventId = Number(headers['last-event-id'] ?? query.from);
      return { status: 200, stream: (_db, signal) => followed(name, script, { signal, lastEventId }) };
    },
    async trial({ db, params: { name }, body, caller: { organizationId } }) {
      await db.updateTable('organization').set({ name }).where('id', '=', organizationId).execute();
      if (body.count > 9) throw new AppError('invalid_request', 'That is too many.');
      return {
        status: 200,
        async *stream(pool) {
          const row = await pool.selectFrom('organization').select('name').executeTakeFirstOrThrow();
          for (let n = 1; n <= body.count; n++) yield { data: { n, text: row.name } };
        },
      };
    },
  };

  const road = await startTestApp({
    operations: streamOperations,
    handlers,
    streamLimits,
    inspectAnswer: (operation, { body }) => void operation.answers[200]?.parse(body),
  });
  return { ...road, scripts, fates };
}

export type ScriptedStreams = Awaited<ReturnType<typeof startScriptedStreams>>;

/** Says nothing until it is ended. */
export const silent: Script = async function* ({ signal }) {
  await aborted(signal);
  yield* [];
};

/** Ends when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  signal.addEventListener('abort', () => resolve());
  return promise;
}

/** A wait that heeds nothing. */
export function forever(): Promise<never> {
  return Promise.withResolvers<never>().promise;
}
