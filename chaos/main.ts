import { parseArgs } from 'node:util';
import { playAgentRound } from '../test/chaos/agent-rounds.ts';
import { type Fleet, launchFleet } from '../test/chaos/fleet.ts';
import { compareLedgers } from '../test/chaos/ledger.ts';
import { createRandom } from '../test/chaos/random.ts';
import { playRound } from '../test/chaos/rounds.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '200' }, seed: { type: 'string' } },
});
const rounds = Number(values.rounds);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const random = createRandom(seed);
/** Real agents are heavy, so that they play in every so many rounds only. */
const AGENTS_EVERY = 10;

print(`${rounds} rounds, seed ${seed}`);
const fleets: { usual: Fleet; agents?: Fleet } = { usual: await launchFleet() };
try {
  for (let round = 1; round <= rounds; round++) {
    const began = performance.now();
    const played = await play(round);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    print(`${String(round).padStart(4)}  ${played}; settled after ${seconds} s`);
  }
  for (const fleet of Object.values(fleets)) await conclude(fleet);
} finally {
  for (const fleet of Object.values(fleets)) await fleet.close();
}

async function play(round: number): Promise<string> {
  if (round % AGENTS_EVERY !== 0) return playRound(fleets.usual, random);
  fleets.agents ??= await launchFleet({ runner: 'real' });
  return playAgentRound(fleets.agents, random);
}

async function conclude(fleet: Fleet): Promise<void> {
  const { completed, failed } = await compareLedgers(fleet);
  print(
    `${fleet.messages.length} messages acknowledged, none lost; of those in living replicas ${completed} were done once and ${failed} reported as not done; nothing stuck, nothing left over, bills right.`,
  );
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
