import type { hookOperations } from '../../../src/contract/hook.ts';
import type { hookLogOperations } from '../../../src/contract/hook-log.ts';
import type { Examples } from '../example.ts';
import type { Fixture } from '../fixture.ts';
import { environmentOf } from './environment.ts';

/** Without a repository, so that a test need not clone one. */
const tested = (f: Fixture) => ({
  params: { environmentId: f.plainEnvironmentId },
  body: { content: f.stage.unique('make') },
});
const logsOf = (f: Fixture) => ({ params: { id: f.replicaId } });

export const hookExamples: Examples<typeof hookOperations & typeof hookLogOperations> = {
  getWarmHook: environmentOf,
  saveWarmHook: (f) => ({ ...environmentOf(f), body: { content: f.stage.unique('make') } }),
  listWarmRepositoryHooks: environmentOf,
  testWarmHook: tested,
  saveTestWarmHook: (f) => ({
    ...tested(f),
    body: { content: f.stage.unique('make'), persist: 'on_success' },
  }),
  streamWarmHookTest: (f) => ({
    ...tested(f),
    body: { content: f.stage.unique('make'), mode: 'save_test', persist: 'always' },
  }),

  getStartHook: environmentOf,
  saveStartHook: (f) => ({ ...environmentOf(f), body: { content: f.stage.unique('make start') } }),
  listStartRepositoryHooks: environmentOf,
  testStartHook: tested,
  streamStartHookTest: tested,

  listHookLogs: logsOf,
  getHookOutput: (f) => ({ params: { id: f.replicaId, index: '0' } }),
};
