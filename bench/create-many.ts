import { type LiveService, NO_WORK } from './live-service.ts';

export type Created = { replicaIds: string[]; failures: number; ms: number };

/** Creates replicas with requests that are answered at once, all together, and waits until they are active. */
export async function createMany(
  { client, environmentId, untilPrepared }: LiveService,
  { count, signal }: { count: number; signal: AbortSignal },
): Promise<Created> {
  const began = performance.now();
  const answers = await Promise.allSettled(
    Array.from({ length: count }, () =>
      client.createReplica(
        {
          headers: { 'x-service-api-version': '2026-05-17' },
          body: { name: 'bench', message: NO_WORK, environment_id: environmentId },
        },
        { signal },
      ),
    ),
  );
  signal.throwIfAborted();
  const replicaIds = answers.flatMap((answer) =>
    answer.status === 'fulfilled' ? [answer.value.replica.id] : [],
  );
  const failed = await untilPrepared(replicaIds);
  return { replicaIds, failures: count - replicaIds.length + failed, ms: performance.now() - began };
}
