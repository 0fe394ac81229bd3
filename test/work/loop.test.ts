import { Writable } from 'node:stream';
import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { createLoop } from '../../src/work/loop.ts';

/** Runs a loop through these outcomes, a second of its clock each, and gives back what it has logged. */
async function logOf(outcomes: (string | null)[]): Promise<string[]> {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      const { msg, err } = JSON.parse(String(chunk));
      lines.push(err ? `${msg}: ${err.message}` : msg);
      done();
    },
  });
  let round = 0;
  const loop = createLoop({
    name: 'test',
    intervalMs: 1,
    log: pino(sink),
    monotonicMs: () => round * 1_000,
    async run() {
      const outcome = outcomes[round++];
      if (outcome) throw new Error(outcome);
    },
  });
  loop.start();
  await vi.waitFor(() => expect(round).toBeGreaterThan(outcomes.length));
  await loop.stop();
  return lines;
}

test.each<[string, (string | null)[], string[]]>([
  ['nothing when all is well', [null, null], []],
  ['a failure once, and that it is over', ['a', 'a', null, null], ['loop.failed: a', 'loop.recovered']],
  ['another failure at once', ['a', 'b', 'b', null], ['loop.failed: a', 'loop.failed: b', 'loop.recovered']],
  [
    'the same failure after it was over',
    ['a', null, 'a', null],
    ['loop.failed: a', 'loop.recovered', 'loop.failed: a', 'loop.recovered'],
  ],
  [
    'the same failure again after a minute',
    [...Array(70).fill('a'), null],
    ['loop.failed: a', 'loop.failed: a', 'loop.recovered'],
  ],
])('a loop tells %s', async (_name, outcomes, expected) => {
  expect(await logOf(outcomes)).toEqual(expected);
});
