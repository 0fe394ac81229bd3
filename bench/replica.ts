import { parseArgs } from 'node:util';
import { measureCrowd } from './measure-crowd.ts';
import { measureEngine } from './measure-engine.ts';
import { measureFleet } from './measure-fleet.ts';
import { measureClaims, measureColdStarts } from './measure-starts.ts';
import { measureWakes } from './measure-wakes.ts';
import type { BenchPart, Scale } from './replica-bench.ts';
import { UsageError } from './usage-error.ts';
import { withLiveService } from './with-live-service.ts';

const parts: Record<string, { about: string; measure: BenchPart }> = {
  cold: { about: 'create → active without a pool', measure: measureColdStarts },
  wake: { about: 'wake → active, message → turn started', measure: measureWakes },
  claim: { about: 'create → active from a warm pool', measure: measureClaims },
  fleet: { about: 'memory of idle replicas, events to many streams', measure: measureFleet },
  crowd: { about: 'many replicas at once', measure: measureCrowd },
  engine: { about: 'start of a sandbox against docker run', measure: measureEngine },
};

const whole: Scale = { samples: 20, fleet: 20, streams: 1_000, events: 10, crowd: 100 };
const quick: Scale = { samples: 3, fleet: 10, streams: 100, events: 3, crowd: 20 };

const help = `Usage: script/bench replica [options]

Starts the service with real sandboxes on a temporary folder, measures it, and removes everything again.

  --quick        few samples, ${quick.streams} streams, ${quick.crowd} replicas at once: to see that it works
  --only PART    only this part; may be given several times
  --samples N    starts and wakes of each kind (${whole.samples})
  --streams N    open event streams (${whole.streams})
  --replicas N   replicas at once (${whole.crowd})
  --verbose      what was done for a start and when, as medians
  --help

Parts:
${Object.entries(parts)
  .map(([name, { about }]) => `  ${name.padEnd(14)} ${about}`)
  .join('\n')}`;

/** What a replica costs in time and memory, seen from outside. */
export async function benchReplica(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: Object.keys(parts) },
      samples: { type: 'string' },
      streams: { type: 'string' },
      replicas: { type: 'string' },
      verbose: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return console.log(help);
  const scale = values.quick ? quick : whole;
  const measures = values.only.map((name) => {
    const part = parts[name];
    if (!part) throw new UsageError(`there is no part "${name}"; --help lists them`);
    return part.measure;
  });
  await measureAll(measures, {
    isVerbose: values.verbose,
    scale: {
      ...scale,
      samples: readCount('samples', values.samples) ?? scale.samples,
      streams: readCount('streams', values.streams) ?? scale.streams,
      crowd: readCount('replicas', values.replicas) ?? scale.crowd,
    },
  });
}

async function measureAll(
  measures: readonly BenchPart[],
  options: { isVerbose: boolean; scale: Scale },
): Promise<void> {
  await withLiveService(async (live, { signal, report }) => {
    for (const measure of measures) report(await measure({ live, signal, ...options }));
  });
}

function readCount(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1)
    throw new UsageError(`--${name} must be a whole number from 1 on`);
  return count;
}
