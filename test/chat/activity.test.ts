import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.close());

const HOUR_MS = 3_600_000;

test.each([
  ['default', 'sleep_due_at'],
  ['delete_after_inactivity', 'delete_due_at'],
] as const)(
  'in a replica with the policy %s, a message and the begin of its turn put off %s',
  async (lifecycle_policy, column) => {
    const replica = await stage.replica('active', { lifecycle_policy });
    async function putsOff(work: () => Promise<unknown>): Promise<void> {
      const before = new Date(Date.now() - HOUR_MS);
      const times = { last_activity_at: before, [column]: before };
      await stage.db.updateTable('replica').set(times).where('id', '=', replica.id).execute();
      await work();
      const after = await replica.row();
      expect(after.last_activity_at?.getTime()).toBeGreaterThan(before.getTime() + HOUR_MS / 2);
      expect(after[column]?.getTime()).toBeGreaterThan(Date.now());
    }
    await putsOff(() => replica.send('one'));
    const turn = await replica.arrived(1);
    await putsOff(() => replica.start(turn));
    await putsOff(() => replica.finish(turn));
  },
);
