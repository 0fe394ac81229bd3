import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canIsolate } from '../world/live.ts';
import { type Fleet, launchFleet } from './fleet.ts';
import { compareLedgers } from './ledger.ts';
import { createRandom } from './random.ts';
import { playRound } from './rounds.ts';

const ROUNDS = 20;

describe.skipIf(!canIsolate)('kills at random moments', () => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await launchFleet();
  }, 60_000);
  afterAll(() => fleet?.close(), 60_000);

  it(`lose nothing, do nothing twice, and leave nothing stuck in ${ROUNDS} rounds`, async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = createRandom(seed);
    const played: string[] = [];
    try {
      for (let round = 0; round < ROUNDS; round++) played.push(await playRound(fleet, random));
      await compareLedgers(fleet);
    } catch (error) {
      throw new Error(`seed ${seed}, after ${played.length} rounds: ${played.at(-1)}`, { cause: error });
    }
    expect(fleet.messages.length).toBeGreaterThan(0);
  }, 600_000);
});
