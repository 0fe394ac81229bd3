import { expect, test } from 'vitest';
import { turnRequest } from '../../../../test/engine/turn-request.ts';
import type { TurnRequest } from '../../protocol.ts';
import { AgentFailure, type JsonObject } from '../agent.ts';
import type { RolloutLine } from './codex-rollout.ts';
import { codexSettings } from './codex-settings.ts';
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

test('codex hears of its settings when they change, and after a message that has not ended well', async () => {
  const told: JsonObject[] = [];
  const written: RolloutLine[] = [];
  let isRefusing = false;
  const work = createCodexWork({
    agent: { ended: new Promise(() => {}), close: async () => {} },
    rpc: {
      async ask(_method, { threadId: _thread, input: _input, ...settings }) {
        told.push(settings);
        if (isRefusing) throw new AgentFailure('Codex did not do what it was asked for.');
        written.push({ type: 'event_msg', payload: { type: 'task_complete', turn_id: 't' } });
        void work.hear('turn/completed', { threadId: 'own', turn: { id: 't', status: 'completed' } });
        return {};
      },
      tell: () => {},
      hear: () => {},
      answer: () => {},
    },
    thread: { id: 'own', file: '', usualModel: 'usual', commands: [] },
    rollout: { read: async () => written.splice(0) },
    hasLocalServers: false,
  });
  const usual = turnRequest({ message: 'x' });
  const planning = { ...usual, planMode: true };
  const run = (request: TurnRequest) =>
    work.run({
      request,
      signal: new AbortController().signal,
      message: async () => {},
      delta: async () => {},
      heard: () => {},
    });
  for (const request of [usual, usual, planning]) await run(request);
  isRefusing = true;
  await expect(run(planning)).rejects.toThrow('did not do what it was asked for');
  isRefusing = false;
  for (const request of [planning, planning]) await run(request);
  const [first, second] = [codexSettings(usual, 'usual'), codexSettings(planning, 'usual')];
  expect(told).toEqual([first, {}, second, {}, second, {}]);
});
