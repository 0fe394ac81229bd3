import { progress } from './progress.ts';
import type { ReplicaBench } from './replica-bench.ts';
import { describeMs, formatMs } from './samples.ts';
import type { TableRow } from './table.ts';
import { describeMoments, type TimedCreate, timeCreate } from './timed-create.ts';

const SHARES = [0.5, 0.95];

/** Creates from a full pool; between two of them the pool is filled again. */
export async function measureClaims(bench: ReplicaBench): Promise<TableRow[]> {
  const { live, scale, isVerbose } = bench;
  progress(`warm claims: ${scale.samples}`);
  await live.setPool(true);
  const starts: TimedCreate[] = [];
  // The first one warms the service and does not count.
  for (let round = 0; round <= scale.samples; round++) {
    await live.untilWarm();
    const start = await createAndRemove(bench);
    if (round > 0) starts.push(start);
  }
  await live.setPool(false);
  await live.untilEmpty();
  const cold = starts.filter(({ kind }) => kind !== 'warm').length;
  const measured = describeMs(toMs(starts), SHARES);
  return [
    {
      what: 'create → active from a warm pool, p50 / p95',
      goal: '< 100 / < 300 ms',
      measured: cold === 0 ? measured : `${measured} (${cold} of ${starts.length} were not warm)`,
    },
    ...(isVerbose ? describeMoments(starts) : []),
  ];
}

/** Creates without a pool. */
export async function measureColdStarts(bench: ReplicaBench): Promise<TableRow[]> {
  const { live, scale, isVerbose } = bench;
  progress(`cold creates: ${scale.samples}`);
  const starts: TimedCreate[] = [];
  // The first one makes the mirror of the repository, and does not count.
  const first = await createAndRemove(bench);
  for (let round = 0; round < scale.samples; round++) {
    await live.untilQuiet();
    starts.push(await createAndRemove(bench));
  }
  return [
    {
      what: 'create → active, no pool, small repository, p50 / p95',
      goal: '< 1000 ms',
      measured: describeMs(toMs(starts), SHARES),
    },
    { what: '  the very first, which fetches the repository', measured: `${formatMs(first.ms)} ms` },
    ...(isVerbose ? describeMoments(starts) : []),
  ];
}

async function createAndRemove({ live, signal }: ReplicaBench): Promise<TimedCreate> {
  const start = await timeCreate(live, signal);
  await live.remove([start.replicaId]);
  return start;
}

const toMs = (starts: readonly TimedCreate[]) => starts.map(({ ms }) => ms);
