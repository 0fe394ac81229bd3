import type { LiveService } from './live-service.ts';
import { NO_WORK } from './live-service.ts';
import { wallMs } from './replica-events.ts';
import { formatMs, median } from './samples.ts';
import type { TableRow } from './table.ts';

/** A moment of a start: milliseconds from the request on, and how long it took where that is known. */
type Moment = { name: string; offsetMs: number; durationMs: number | null };
export type TimedCreate = { replicaId: string; ms: number; kind: string; moments: Moment[] };

/** Creates a replica with the request that is answered once it is active, and reads what was done meanwhile. */
export async function timeCreate(
  { client, environmentId, timesOf }: LiveService,
  signal: AbortSignal,
): Promise<TimedCreate> {
  const body = { name: 'bench', message: NO_WORK, environment_id: environmentId };
  const began = wallMs();
  const { replica } = await client.createReplica({ body }, { signal });
  const ms = wallMs() - began;
  if (replica.status !== 'active') throw new Error(`a replica became ${replica.status} instead of active`);
  const { start, steps } = await client.getReplicaTimeline({ params: { id: replica.id } }, { signal });
  const { createdAt, activeAt } = await timesOf(replica.id);
  const moment = (name: string, at: Date | string, durationMs: number | null = null) => ({
    name,
    offsetMs: new Date(at).getTime() - began,
    durationMs,
  });
  const moments = [
    moment('(row is written)', createdAt),
    ...steps.map(({ step, started_at, duration_ms }) => moment(step, started_at, duration_ms)),
    ...(activeAt ? [moment('(row is active)', activeAt)] : []),
  ];
  return { replicaId: replica.id, ms, kind: start?.kind ?? 'unknown', moments };
}

/** The moments of several starts under each other, as medians, in the order in which they come. */
export function describeMoments(starts: readonly TimedCreate[]): TableRow[] {
  const byName = Map.groupBy(
    starts.flatMap(({ moments }) => moments),
    ({ name }) => name,
  );
  return [...byName]
    .map(([name, moments]) => ({
      name,
      offsetMs: median(moments.map(({ offsetMs }) => offsetMs)),
      durationMs: median(moments.flatMap(({ durationMs }) => durationMs ?? [])),
    }))
    .toSorted((a, b) => a.offsetMs - b.offsetMs)
    .map(({ name, offsetMs, durationMs }) => {
      const duration = Number.isNaN(durationMs) ? '' : `, for ${formatMs(durationMs)} ms`;
      return { what: `    ${name}`, measured: `at ${formatMs(offsetMs)} ms${duration}` };
    });
}
