import { createMany } from './create-many.ts';
import { progress } from './progress.ts';
import type { BenchPart } from './replica-bench.ts';
import { measureSandboxes } from './sandbox-processes.ts';

/** Many replicas at once, and their end. */
export const measureCrowd: BenchPart = async ({ live, scale, signal }) => {
  progress(`${scale.crowd} replicas at once`);
  await live.untilEmpty();
  const { replicaIds, failures, ms } = await createMany(live, { count: scale.crowd, signal });
  await live.untilQuiet();
  const sandboxes = await measureSandboxes(live.dataDir);
  const totalMiB = sandboxes.reduce((total, { wholeMiB }) => total + wholeMiB, 0);
  progress(`deleting ${replicaIds.length} replicas`);
  const began = performance.now();
  await live.remove(replicaIds);
  await live.untilEmpty();
  const removedMs = performance.now() - began;
  return [
    {
      what: `${scale.crowd} replicas at once → all active`,
      measured: `${seconds(ms)}, ${(ms / scale.crowd).toFixed(0)} ms each`,
    },
    { what: '  failed', goal: '0', measured: String(failures) },
    { what: `  memory of all, PSS of ${sandboxes.length}`, measured: `${totalMiB.toFixed(0)} MiB` },
    { what: '  all deleted → no trace left', measured: seconds(removedMs) },
  ];
};

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
