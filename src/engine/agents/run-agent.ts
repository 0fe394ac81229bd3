import { setTimeout as delay } from 'node:timers/promises';
import type { EngineContext } from '../context.ts';
import type { TurnOutcome } from '../journal.ts';
import { engineLimits } from '../limits.ts';
import type { EngineReport, TurnRequest } from '../protocol.ts';
import { type Agent, AgentFailure, type JsonObject } from './agent.ts';
import { fitPayload } from './fit-payload.ts';

/** Lets an agent work on one message and reports what it says. Never throws: whatever happens is an outcome. */
export async function runAgent(options: {
  context: EngineContext;
  agent: Agent;
  request: TurnRequest;
  signal: AbortSignal;
}): Promise<TurnOutcome> {
  const { context, agent, request, signal } = options;
  const ids = { turnId: request.id, chatId: request.chatId };
  const reports = passInOrder(context.report);
  const message = (type: string, payload: JsonObject) =>
    reports.pass({ type: 'turn.message', payload: { ...ids, type, payload: fitPayload(payload, maxBytes) } });
  const delta = (event: JsonObject) =>
    reports.pass({ type: 'turn.delta', payload: { ...ids, event: fitPayload(event, maxBytes) } });
  try {
    await reports.pass({ type: 'turn.started', payload: ids });
    await Promise.race([agent.run({ request, signal, context, message, delta }), graceAfter(signal)]);
    return { outcome: signal.aborted ? 'interrupted' : 'completed', error: null };
  } catch (error) {
    if (signal.aborted) return { outcome: 'interrupted', error: null };
    if (!(error instanceof AgentFailure)) context.log(`an agent failed: ${String(error)}`);
    const sentence = error instanceof AgentFailure ? error.message : 'The agent ended for an unknown reason.';
    return { outcome: 'failed', error: sentence.slice(0, 4_000) };
  } finally {
    await reports.close();
  }
}

/** Room for what else stands in the event. */
const maxBytes = engineLimits.eventBytes - 2_000;
const graceMs = 10_000;

/** Resolves some time after the signal: an agent that does not listen to it is not waited for. */
async function graceAfter(signal: AbortSignal): Promise<void> {
  if (!signal.aborted)
    await new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }));
  await delay(graceMs, undefined, { ref: false });
}

/** Passes reports on one after the other, also when nobody waits for them; those after the close are dropped. */
function passInOrder(report: (report: EngineReport) => Promise<void>): {
  pass: (report: EngineReport) => Promise<void>;
  close: () => Promise<void>;
} {
  let isOpen = true;
  let last: Promise<void> = Promise.resolve();
  return {
    pass(next) {
      if (!isOpen) return Promise.resolve();
      const passed = last.then(() => report(next));
      last = passed.catch(() => {});
      return passed;
    },
    close() {
      isOpen = false;
      return last;
    },
  };
}
