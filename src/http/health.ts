import type { FastifyInstance } from 'fastify';
import { AppError } from '../contract/error.ts';
import type { Metrics } from './metrics.ts';

const READY_WITHIN_MS = 2_000;

/** `/healthz`: the process answers. `/readyz`: what it needs answers too. `/metrics`: for Prometheus. */
export function registerHealth(
  app: FastifyInstance,
  parts: { checks: Record<string, () => Promise<unknown>>; metrics: Metrics },
): void {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async () => {
    const results = await Promise.all(
      Object.entries(parts.checks).map(async ([name, check]) => [name, await passes(check)] as const),
    );
    const failing = results.filter(([, isReady]) => !isReady).map(([name]) => name);
    if (failing.length > 0) throw new AppError('unavailable', `Not ready: ${failing.join(', ')}.`);
    return { status: 'ok', checks: Object.fromEntries(results.map(([name]) => [name, 'ok'])) };
  });
  app.get('/metrics', async (_request, reply) =>
    reply.type(parts.metrics.contentType).send(await parts.metrics.render()),
  );
}

async function passes(check: () => Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), READY_WITHIN_MS);
  try {
    return await Promise.race([check().then(() => true), late]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
