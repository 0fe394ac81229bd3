import { z } from 'zod';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { Git } from '../git/git.ts';
import type { Schedule } from '../work/schedule.ts';
import { defineTask, type TaskContext, type Tasks } from '../work/task.ts';
import { scanRegistry } from './scan.ts';
import type { SkillRegistryService } from './service.ts';

type Parts = { db: Db; git: Pick<Git, 'tree'>; registries: SkillRegistryService };

const FAULT = 'The registry could not be scanned because of a fault on our side; it is tried again.';

export function skillRegistryTasks({ db, git, registries }: Parts): Tasks {
  /** Reads the repository with no transaction open, then keeps the result in one. */
  async function scan(registryId: string, { signal }: TaskContext): Promise<void> {
    const target = await registries.scanTarget(db, registryId);
    if (!target) return;
    try {
      const result = await scanRegistry({ ...target, git, signal });
      await transact(db, (tx) => registries.reportScan(tx, target, result));
    } catch (error) {
      // The record never waits for a scan that does not come, even when every further attempt fails too.
      const report = () =>
        transact(db, (tx) => registries.reportScan(tx, target, { outcome: 'failed', error: FAULT }));
      if (!signal.aborted) await report().catch(() => undefined);
      throw error;
    }
  }

  return [
    defineTask({
      name: 'skill_registry.scan',
      payload: z.object({ registry_id: z.guid() }),
      run: (payload, context) => scan(payload.registry_id, context),
    }),
    defineTask({
      name: 'skill_registry.rescan',
      payload: z.object({}),
      run: () => transact(db, (tx) => registries.requestDueScans(tx)),
    }),
  ];
}

export const skillRegistrySchedule: readonly Schedule[] = [
  { name: 'skill_registry.rescan', cron: '* * * * *' },
];
