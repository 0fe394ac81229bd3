import type { terminalOperations } from '../../../src/contract/terminal.ts';
import { engineLimits } from '../../../src/engine/limits.ts';
import type { Examples } from '../example.ts';
import type { Fixture } from '../fixture.ts';

const replicaOf = async (f: Fixture) => ({ params: { id: (await f.liveReplica()).id } });
const terminalOf = async (f: Fixture) => {
  const { id, terminalId } = await f.liveReplica();
  return { params: { id, terminalId } };
};

/** The terminals of the live replica, the oldest first. */
export async function listTerminals(f: Fixture): Promise<{ path: string; ids: string[] }> {
  const path = `/v1/workspaces/${(await f.liveReplica()).id}/terminals`;
  const { body } = await f.org.call('GET', path);
  return { path, ids: body.terminals.map(({ id }: { id: string }) => id) };
}

/** Closes what was opened first when there are too many to open another one. */
async function makeRoom(f: Fixture): Promise<void> {
  const { terminalId } = await f.liveReplica();
  const { path, ids } = await listTerminals(f);
  const others = ids.filter((id) => id !== terminalId);
  const isFull = ids.length > engineLimits.terminals / 2;
  for (const id of isFull ? others : []) await f.org.call('DELETE', `${path}/${id}`);
}

export const terminalExamples: Examples<typeof terminalOperations> = {
  listTerminals: replicaOf,
  createTerminal: async (f) => {
    await makeRoom(f);
    return { ...(await replicaOf(f)), body: { cols: 120, rows: 40, command: 'make' } };
  },
  sendTerminalInput: async (f) => ({ ...(await terminalOf(f)), body: { data: 'make\r' } }),
  resizeTerminal: async (f) => ({ ...(await terminalOf(f)), body: { cols: 100, rows: 30 } }),
  streamTerminal: async (f) => ({ ...(await terminalOf(f)), query: { offset: '0', encoding: 'utf8' } }),
  deleteTerminal: async (f) => {
    await makeRoom(f);
    const { params } = await replicaOf(f);
    return { params: { ...params, terminalId: await f.make(`/v1/workspaces/${params.id}/terminals`, {}) } };
  },
};
