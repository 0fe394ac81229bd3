import type { terminalOperations } from '../../../src/contract/terminal.ts';
import { engineLimits } from '../../../src/engine/limits.ts';
import { listTerminals } from '../examples/terminal.ts';
import { exampleOf } from '../examples.ts';
import { ofFailedReplica } from '../failed-replica.ts';
import type { Refusals } from '../refusal.ts';

export const terminalRefusals: Refusals<typeof terminalOperations> = {
  listTerminals: { invalid_state: ofFailedReplica('listTerminals') },
  createTerminal: {
    invalid_state: ofFailedReplica('createTerminal'),
    limit_reached: async (f) => {
      const call = await exampleOf('createTerminal', f, 'org_key');
      const { path, ids } = await listTerminals(f);
      for (let count = ids.length; count < engineLimits.terminals; count++) await f.make(path, {});
      return call;
    },
  },
  sendTerminalInput: { invalid_state: ofFailedReplica('sendTerminalInput') },
  resizeTerminal: { invalid_state: ofFailedReplica('resizeTerminal') },
  streamTerminal: { invalid_state: ofFailedReplica('streamTerminal') },
  deleteTerminal: { invalid_state: ofFailedReplica('deleteTerminal') },
};
