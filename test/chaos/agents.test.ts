import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentPrograms } from '../world/agents-folder.ts';
import { canIsolate } from '../world/live.ts';
import { playAgentRound } from './agent-rounds.ts';
import { type Fleet, launchFleet } from './fleet.ts';
import { compareLedgers } from './ledger.ts';
import { createRandom } from './random.ts';

const ROUNDS = 4;

describe.skipIf(!canIsolate)('kills in the middle of a tool of a real agent', () => {
  let fleet: Fleet;
  beforeAll(async () => {
    agentPrograms('claude');
    agentPrograms('codex');
    fleet = await launchFleet({ runner: 'real' });
  }, 60_000);
  afterAll(() => fleet?.close(), 60_000);

  it(`lose nothing, do nothing twice, and leave nothing stuck in ${ROUNDS} rounds`, async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = createRandom(seed);
    const played: string[] = [];
    try {
      for (let round = 0; round < ROUNDS; round++) played.push(await playAgentRound(fleet, random));
      const { completed } = await compareLedgers(fleet);
      expect(completed).toBeGreaterThanOrEqual(ROUNDS);
    } catch (error) {
      throw new Error(`seed ${seed}, after ${played.length} rounds: ${played.at(-1)}`, { cause: error });
    }
  }, 300_000);
});
