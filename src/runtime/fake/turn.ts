import { setTimeout as delay } from 'node:timers/promises';
import { AgentFailure } from '../../engine/agents/agent.ts';
import { readSteps, type Step } from '../../engine/agents/scripted/scripted-steps.ts';
import type { EngineReport, TurnRequest } from '../../engine/protocol.ts';

export type FakeTurns = {
  /** The same id twice is one turn. */
  begin(turn: TurnRequest): void;
  /** Whether there was one to interrupt. */
  interrupt(id: string): boolean;
  /** The turns whose end is yet to be reported. */
  inWork(): string[];
};

/** Pretends to be the scripted agent: it reads the same scripts, waits and speaks, but writes and runs nothing. */
export function createFakeTurns(report: (report: EngineReport) => void, ending: AbortSignal): FakeTurns {
  const known = new Set<string>();
  const running = new Map<string, AbortController>();

  async function run({ id, chatId, message }: TurnRequest, signal: AbortSignal): Promise<void> {
    const turn = { turnId: id, chatId };
    const tell = (type: string, payload: Record<string, unknown>) =>
      report({ type: 'turn.message', payload: { ...turn, type: `scripted-${type}`, payload } });
    const finish = (outcome: 'completed' | 'failed' | 'interrupted', error: string | null) => {
      tell('result', { outcome, ...(error !== null && { error }) });
      report({ type: 'turn.finished', payload: { ...turn, outcome, error } });
    };

    async function perform(step: Step): Promise<void> {
      signal.throwIfAborted();
      if ('fail' in step) throw new AgentFailure(step.fail);
      if ('sleepMs' in step) return delay(step.sleepMs, undefined, { signal });
      if ('say' in step) {
        report({ type: 'turn.delta', payload: { ...turn, event: { type: 'text', text: step.say } } });
        return tell('assistant', { text: step.say });
      }
      const [tool = ''] = Object.keys(step);
      return tell('tool', { tool, isFake: true });
    }

    report({ type: 'turn.started', payload: turn });
    try {
      const steps = readSteps(message) ?? [{ say: `I am a fake and have done nothing with: ${message}` }];
      for (const step of steps) await perform(step);
      finish('completed', null);
    } catch (error) {
      // What was killed says nothing any more.
      if (ending.aborted) return;
      if (signal.aborted) finish('interrupted', null);
      else finish('failed', error instanceof AgentFailure ? error.message : 'The fake agent has broken.');
    }
  }

  return {
    begin(turn) {
      if (known.has(turn.id)) return;
      known.add(turn.id);
      const interruption = new AbortController();
      running.set(turn.id, interruption);
      const signal = AbortSignal.any([interruption.signal, ending]);
      void run(turn, signal).finally(() => running.delete(turn.id));
    },
    interrupt(id) {
      running.get(id)?.abort();
      return running.has(id);
    },
    inWork: () => [...running.keys()],
  };
}
