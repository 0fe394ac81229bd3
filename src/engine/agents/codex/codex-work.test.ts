import { expect, test } from 'vitest';
import { turnRequest } from '../../../../test/engine/turn-request.ts';
import { AgentFailure } from '../agent.ts';
import { createCodexWork } from './codex-work.ts';

test('a message that codex refuses ends at once: there is nothing to interrupt', async () => {
  const asked: string[] = [];
  const closed: string[] = [];
  const work = createCodexWork({
    agent: { ended: new Promise(() => {}), close: async () => void closed.push('codex') },
    rpc: {
      async ask(method) {
        asked.push(method);
        throw new AgentFailure('Codex did not do what it was asked for.');
      },
      tell: () => {},
      hear: () => {},
      answer: () => {},
    },
    thread: { id: 'own', file: '', usualModel: 'm', commands: [] },
    rollout: { read: async () => [] },
    hasLocalServers: true,
  });
  const turn = {
    request: turnRequest({ message: 'x' }),
    signal: new AbortController().signal,
    message: async () => {},
    delta: async () => {},
    heard: () => {},
  };
  await expect(work.run(turn)).rejects.toThrow('did not do what it was asked for');
  expect([asked, closed]).toEqual([['turn/start'], []]);
});
