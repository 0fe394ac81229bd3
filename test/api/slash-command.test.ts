import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { type EngineStage, type StagedSandbox, startEngineStage } from '../gateway/engine-stage.ts';

let stage: EngineStage;
beforeAll(async () => {
  stage = await startEngineStage({ REPLICA_OFFLINE_MODEL: 'true' });
});
afterAll(() => stage?.close());

const strict = { prefer: 'handling=strict' };
const plan = { command: 'plan', description: 'Plan only, and change nothing.' };
const goal = { command: 'goal', description: 'Work until this goal is reached.' };
const fast = { command: 'fast', description: 'Work in fast mode.' };

async function openChat({ replicaId }: StagedSandbox, provider: string): Promise<string> {
  const { body } = await stage.org.call('POST', `/v1/replica/${replicaId}/chats`, { provider });
  return `/v1/replica/${replicaId}/chats/${body.id}/slash-commands`;
}
const list = async (path: string) => (await stage.org.call('GET', path)).body.commands;
const tell = (sandbox: StagedSandbox, agent: string, commands: object[]) =>
  sandbox.report({ type: 'agent.commands', payload: { agent, commands } });
const setState = (sandbox: StagedSandbox, state: string) =>
  stage.world.db.updateTable('replica').set({ state }).where('id', '=', sandbox.replicaId).execute();

describe('what can be written after a slash', () => {
  test.each([
    ['claude', [plan, fast]],
    ['codex', [plan, goal, fast]],
    ['cursor', [plan, fast]],
    ['opencode', [plan, fast]],
  ])("are the service's own words before %s has said anything", async (provider, own) => {
    const path = await openChat(await stage.sandbox(), provider);
    expect(await list(path)).toEqual(own.map((command) => ({ ...command, providers: [provider] })));
  });

  test('are then also those of the agent, as it has said last, without doubles', async () => {
    const sandbox = await stage.sandbox();
    const [claude, codex] = [await openChat(sandbox, 'claude'), await openChat(sandbox, 'codex')];
    await tell(sandbox, 'claude', [{ command: 'old', description: '', argumentHint: null }]);
    await tell(sandbox, 'claude', [
      { command: 'plan', description: "The agent's own.", argumentHint: null },
      { command: 'review', description: 'Review a pull request.', argumentHint: '[number]' },
      { command: 'compact', description: '', argumentHint: null },
    ]);
    await tell(sandbox, 'scripted', [{ command: 'never', description: '', argumentHint: null }]);
    const providers = ['claude'];
    expect(await list(claude)).toEqual([
      { ...plan, providers },
      { ...fast, providers },
      { command: 'review', description: 'Review a pull request.', argumentHint: '[number]', providers },
      { command: 'compact', description: '', providers },
    ]);
    expect(await list(codex)).toHaveLength(3);
    const another = await openChat(await stage.sandbox(), 'claude');
    expect(await list(another)).toHaveLength(2);
  });

  test('are known while the replica sleeps, without waking it', async () => {
    const sandbox = await stage.sandbox();
    const path = await openChat(sandbox, 'claude');
    await tell(sandbox, 'claude', [{ command: 'review', description: '', argumentHint: null }]);
    for (const state of ['sleeping', 'archived']) {
      await setState(sandbox, state);
      expect(await list(path)).toHaveLength(3);
      const refused = await stage.org.call('GET', path, undefined, strict);
      expect([refused.status, refused.headers.get('x-service-error-code')]).toEqual([409, 'invalid_state']);
      expect((await sandbox.replica()).state).toBe(state);
    }
    await setState(sandbox, 'active');
    expect((await stage.org.call('GET', path, undefined, strict)).status).toBe(200);
    await setState(sandbox, 'failed');
    expect((await stage.org.call('GET', path)).status).toBe(409);
  });

  test('are of chats that exist, and of nobody else', async () => {
    const sandbox = await stage.sandbox();
    const path = await openChat(sandbox, 'claude');
    const absent = `/v1/replica/${sandbox.replicaId}/chats/${newId()}/slash-commands`;
    expect((await stage.org.call('GET', absent)).status).toBe(404);
    const other = await stage.world.org();
    expect((await other.call('GET', path)).status).toBe(404);
    await stage.org.call('DELETE', path.replace('/slash-commands', ''));
    expect((await stage.org.call('GET', path)).status).toBe(404);
  });

  const one = { command: 'a', description: '', argumentHint: null };
  test.each([
    ['too many', Array(501).fill(one)],
    ['too long', [{ ...one, command: 'x'.repeat(201) }]],
    ['without all of it', [{ command: 'a' }]],
  ])('are not taken from an engine when they are %s', async (_what, commands) => {
    const sandbox = await stage.sandbox();
    const path = await openChat(sandbox, 'claude');
    expect((await tell(sandbox, 'claude', commands)).status).toBe(400);
    expect(await list(path)).toHaveLength(2);
  });

  test('are kept as far as they can be stored', async () => {
    const sandbox = await stage.sandbox();
    const path = await openChat(sandbox, 'claude');
    await tell(sandbox, 'claude', [{ ...one, description: 'a\0b\ud800' }]);
    expect(await list(path)).toHaveLength(3);
  });
});
