import { benchAgent } from './agent.ts';
import { benchApi } from './api.ts';
import { benchReplica } from './replica.ts';
import { UsageError } from './usage-error.ts';
import { benchWebhook } from './webhook.ts';

const benches: Record<string, { about: string; run: (options: string[]) => Promise<void> }> = {
  agent: {
    about: 'what the service adds to each agent, wakes and memory; has options of its own (--help)',
    run: benchAgent,
  },
  api: { about: 'authenticated reads against bare Fastify + pg, start-up time, memory', run: benchApi },
  replica: {
    about: 'starts, wakes, events and memory of replicas; has options of its own (--help)',
    run: benchReplica,
  },
  webhook: { about: 'events in, deliveries out, and the cost of idle automations', run: benchWebhook },
};

try {
  await run(process.argv.slice(2));
} catch (error) {
  const isMistyped = error instanceof UsageError || isOfArguments(error);
  if (!isMistyped) throw error;
  console.error(`script/bench: ${error.message}`);
  process.exitCode = 2;
}

async function run(given: readonly string[]): Promise<void> {
  const firstOption = given.findIndex((argument) => argument.startsWith('-'));
  const names = firstOption < 0 ? given : given.slice(0, firstOption);
  const options = given.slice(names.length);
  if (names.length === 0 && options.some((option) => option === '--help' || option === '-h')) {
    console.log('Usage: script/bench [name …] [options]   (all when none is named)\n');
    for (const [name, { about }] of Object.entries(benches)) console.log(`  ${name.padEnd(10)} ${about}`);
    return;
  }
  for (const name of names.length > 0 ? names : Object.keys(benches)) {
    const bench = benches[name];
    if (!bench) throw new UsageError(`there is no bench "${name}"; --help lists them`);
    await bench.run(options);
  }
}

function isOfArguments(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_');
}
