import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ReplicaState, replicaStates } from '../../src/replica/lifecycle.ts';
import { wakeIfAsleep } from '../../src/replica/wake-if-asleep.ts';
import { openStage, type Stage } from '../chat/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

async function replicaIn(state: ReplicaState) {
  const { id } = await stage.replica(state);
  const row = await stage.replicas.read(stage.db, id);
  if (!row) throw new Error('the replica is gone');
  return row;
}

test('a replica that sleeps is woken, and every other one stays as it is', async () => {
  for (const state of replicaStates) {
    const woken = await wakeIfAsleep(stage.db, stage.replicas, await replicaIn(state));
    const isAsleep = state === 'sleeping' || state === 'falling_asleep';
    expect(woken.state, state).toBe(isAsleep ? 'waking' : state);
  }
});

test('what became of the replica since it was read counts', async () => {
  const row = await replicaIn('sleeping');
  const { replicas } = stage;
  const become = (state: ReplicaState) =>
    stage.db.updateTable('replica').set({ state }).where('id', '=', row.id).execute();
  await become('archived');
  expect((await wakeIfAsleep(stage.db, replicas, row)).state).toBe('archived');
  await become('deleting');
  await expect(wakeIfAsleep(stage.db, replicas, row)).rejects.toThrow('Replica not found');
});
