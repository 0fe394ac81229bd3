import { setTimeout as delay } from 'node:timers/promises';
import { createMany } from './create-many.ts';
import { timeFanOut } from './fan-out.ts';
import { progress } from './progress.ts';
import type { BenchPart } from './replica-bench.ts';
import { describeMs } from './samples.ts';
import { measureSandboxes } from './sandbox-processes.ts';
import type { TableRow } from './table.ts';

/** How long replicas are left alone before their memory is looked at. */
const IDLE_MS = 5_000;
const SHARES = [0.5, 0.99];
const WHAT_IS_TIMED = [
  'Events are timed from the clock that a command in the sandbox prints to the arrival of its output at each client:',
  'the end of the command, the engine, the gateway, the commit and the stream are in it.',
].join('\n');

/** Some idle replicas: what they cost, and how fast what happens in them reaches those who watch. */
export const measureFleet: BenchPart = async ({ live, scale, signal }) => {
  progress(`a fleet of ${scale.fleet} replicas`);
  const { replicaIds } = await createMany(live, { count: scale.fleet, signal });
  await live.untilQuiet();
  await delay(IDLE_MS, undefined, { signal });
  const memory = await describeMemory(live.dataDir);

  const [first = ''] = replicaIds;
  progress(`${scale.streams} streams over ${replicaIds.length} replicas`);
  const spread = await timeFanOut(live, { ...scale, replicaIds, signal });
  progress(`${scale.streams} streams of one replica`);
  const crowded = await timeFanOut(live, { ...scale, replicaIds: [first], signal });
  await live.remove(replicaIds);
  return [
    ...memory,
    {
      what: `event → SSE client, ${scale.streams} streams over ${replicaIds.length} replicas, p50 / p99`,
      goal: 'p99 < 50 ms',
      measured: describeMs(spread, SHARES),
      note: WHAT_IS_TIMED,
    },
    {
      what: `event → SSE client, ${scale.streams} streams of one replica, p50 / p99`,
      goal: 'p99 < 50 ms',
      measured: describeMs(crowded, SHARES),
      note: WHAT_IS_TIMED,
    },
  ];
};

async function describeMemory(dataDir: string): Promise<TableRow[]> {
  const sandboxes = await measureSandboxes(dataDir);
  const mean = (pick: (one: (typeof sandboxes)[number]) => number) =>
    sandboxes.reduce((total, one) => total + pick(one), 0) / sandboxes.length;
  return [
    {
      what: `idle active replica, PSS, mean of ${sandboxes.length}`,
      goal: '< 15 MiB',
      measured: `${mean(({ wholeMiB }) => wholeMiB).toFixed(1)} MiB`,
    },
    { what: '  its engine alone', measured: `${mean(({ engineMiB }) => engineMiB).toFixed(1)} MiB` },
  ];
}
