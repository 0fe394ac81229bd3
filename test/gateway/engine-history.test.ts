import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStage, type Stage } from '../chat/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.close());

const GIB = 1_073_741_824;

describe('the history of a replica', () => {
  test('counts what agents say, and beyond its room keeps a mark, and in the end nothing', async () => {
    const replica = await stage.replica();
    await replica.send('Hello');
    const turn = await replica.arrived(1);
    await replica.start(turn);
    await replica.say(turn, 'one');
    const { history_bytes: counted } = await replica.row();
    expect(Number(counted)).toBeGreaterThan(200);
    const fill = (bytes: number) =>
      stage.db
        .updateTable('replica')
        .set({ history_bytes: String(bytes) })
        .where('id', '=', replica.id)
        .execute();
    await fill(GIB - 1_000);
    await replica.say(turn, 'x'.repeat(900));
    await replica.say(turn, 'two');
    await fill(GIB + 16 * 1_048_576);
    await replica.say(turn, 'three');
    const { entries } = await replica.history();
    expect(entries.slice(1).map(({ payload }) => payload)).toEqual([
      { text: 'one' },
      { type: 'claude-assistant', truncated: true },
      { text: 'two' },
    ]);
    // Who follows the turn sees it all the same.
    const deltas = (await replica.events()).filter(({ type }) => type === 'chat.turn.delta');
    expect(deltas).toHaveLength(4);
    await replica.finish(turn);
    expect((await replica.messages()).map(({ state }) => state)).toEqual(['completed']);
  });
});
