import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { applyChange, changesOf } from './arbitrary.ts';
import { type LooseCall, operationNames, operationOf, send, usualCaller } from './call.ts';
import { exampleOf } from './examples.ts';
import { type Fixture, makeFixture } from './fixture.ts';
import { type Stage, startStage } from './stage.ts';
import { hashContent } from './tables.ts';

/** More runs find more; a failure prints its seed, which REPLICA_TEST_SEED repeats. */
const numRuns = Number(process.env.REPLICA_TEST_RUNS ?? 10);
const given = process.env.REPLICA_TEST_SEED;
const seed = given === undefined ? undefined : Number(given);

const withInput = operationNames.filter((name) => {
  const { params, query, headers, body } = operationOf(name);
  return params || query || headers || body;
});

let stage: Stage;
let fixture: Fixture;
const calls = new Map<string, LooseCall>();
beforeAll(async () => {
  stage = await startStage();
  fixture = await makeFixture(stage);
  // Before anything is filled up by the runs.
  for (const name of withInput) calls.set(name, await exampleOf(name, fixture, usualCaller(name)));
});
afterAll(() => stage?.close());

test.each(withInput)('%s never fails, and stores nothing when it refuses', async (name) => {
  const who = usualCaller(name);
  // What is deleted by one run is absent in the next, which is one more way to be refused.
  const example = calls.get(name) ?? {};
  await stage.settle();
  let before = await hashContent(stage.world.pool);
  const property = fc.asyncProperty(changesOf(name, example), async (changes) => {
    const call = changes.reduce(applyChange, example);
    const answer = await send(fixture.callers[who], name, call);
    expect(answer.status).toBeLessThan(500);
    if (answer.status < 300) await stage.settle();
    const after = await hashContent(stage.world.pool);
    if (answer.status >= 400) expect(after, 'the content of the database').toBe(before);
    before = after;
  });
  await fc.assert(property, { numRuns, seed });
});
