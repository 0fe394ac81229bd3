import type { hookOperations } from '../../../src/contract/hook.ts';
import type { hookLogOperations } from '../../../src/contract/hook-log.ts';
import type { OperationName } from '../../../src/contract/operations.ts';
import { exampleOf } from '../examples.ts';
import { ofFailedReplica } from '../failed-replica.ts';
import type { Refusal, Refusals } from '../refusal.ts';

/** The sandbox of the test cannot be made. */
const withoutSandbox =
  (name: OperationName): Refusal =>
  async (f) => {
    // Nothing else may make a sandbox meanwhile.
    await f.stage.settle();
    f.stage.driver.failNext('create', new Error('there is no room'));
    return exampleOf(name, f, 'org_key');
  };

export const hookRefusals: Refusals<typeof hookOperations & typeof hookLogOperations> = {
  testWarmHook: { hook_test_failed: withoutSandbox('testWarmHook') },
  saveTestWarmHook: { hook_test_failed: withoutSandbox('saveTestWarmHook') },
  testStartHook: { hook_test_failed: withoutSandbox('testStartHook') },
  listHookLogs: { invalid_state: ofFailedReplica('listHookLogs') },
  getHookOutput: { invalid_state: ofFailedReplica('getHookOutput') },
};
