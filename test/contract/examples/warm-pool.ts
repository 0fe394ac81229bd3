import type { warmPoolOperations, warmWorkspaceOperations } from '../../../src/contract/warm-pool.ts';
import type { Examples } from '../example.ts';
import { environmentOf } from './environment.ts';

export const warmPoolExamples: Examples<typeof warmPoolOperations & typeof warmWorkspaceOperations> = {
  setWarmPool: (f) => ({ ...environmentOf(f), body: { enabled: true } }),
  listWarmPoolWorkspaces: (f) => ({ params: { configId: f.warmPoolId } }),
  streamWarmPoolWorkspace: (f) => ({ params: { workspaceId: f.warmWorkspaceId } }),
};
