import { parseArgs } from 'node:util';
import { launchFleet } from '../test/chaos/fleet.ts';
import { createRandom } from '../test/chaos/random.ts';
import { compareLedgers, playRound } from '../test/chaos/rounds.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '200' }, seed: { type: 'string' } },
});
const rounds = Number(values.rounds);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const random = createRandom(seed);

print(`${rounds} rounds, seed ${seed}`);
const fleet = await launchFleet();
try {
  for (let round = 1; round <= rounds; round++) {
    const began = performance.now();
    const played = await playRound(fleet, random);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    print(`${String(round).padStart(4)}  ${played}; settled after ${seconds} s`);
  }
  const { completed, failed } = await compareLedgers(fleet);
  print(
    `${fleet.messages.length} messages acknowledged, none lost; of those in living replicas ${completed} were done once and ${failed} reported as not done; nothing stuck, nothing left over, bills right.`,
  );
} finally {
  await fleet.close();
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
