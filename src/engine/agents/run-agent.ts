import { setTimeout as delay } from 'node:timers/promises';
import type { EngineContext } from '../context.ts';
import type { TurnOutcome } from '../journal.ts';
import { engineLimits } from '../limits.ts';
import type { EngineReport, TurnRequest } from '../protocol.ts';
import { type Agent, AgentFailure, type JsonObject } from './agent.ts';
import { fitPayload } from './fit-payload.ts';
import type { Sessions } from './sessions.ts';
import { watchTurn } from './watch-turn.ts';

/** Lets an agent work on one message and reports what it says. Never throws: whatever happens is an outcome. */
export async function runAgent(options: {
  context: EngineContext;
  sessions: Sessions;
  agent: Agent;
  request: TurnRequest;
  signal: AbortSignal;
}): Promise<TurnOutcome> {
  const { context, sessions, agent, request, signal: interruption } = options;
  const ids = { turnId: request.id, chatId: request.chatId };
  const reports = passInOrder(context.report);
  const watch = watchTurn(request);
  const signal = AbortSignal.any([interruption, watch.signal]);
  const message = (type: string, payload: JsonObject) => {
    watch.heard();
    return reports.pass({
      type: 'turn.message',
      payload: { ...ids, type, payload: fitPayload(payload, maxBytes) },
    });
  };
  const delta = (event: JsonObject) => {
    watch.heard();
    return reports.pass({ type: 'turn.delta', payload: { ...ids, event: fitPayload(event, maxBytes) } });
  };
  try {
    // The journal has the turn already. Reports keep their order, so that this one need not be waited for.
    void reports.pass({ type: 'turn.started', payload: ids }).catch(() => {});
    const work = sessions.work(agent, { request, signal, message, delta, heard: watch.heard });
    await Promise.race([work, giveUpAfter(signal, { work, end: () => sessions.end(request.chatId) })]);
    return signal.aborted ? abortedOutcome() : { outcome: 'completed', error: null };
  } catch (error) {
    if (signal.aborted) return abortedOutcome();
    if (!(error instanceof AgentFailure)) context.log(`an agent failed: ${withoutSecrets(String(error))}`);
    const { message: sentence, kind } = error instanceof AgentFailure ? error : unknownFailure;
    return { outcome: 'failed', error: withoutSecrets(sentence).slice(0, maxCharacters), failure: kind };
  } finally {
    watch.end();
    await reports.close();
  }

  /** Sentences quote agents and providers, and these quote whatever they were given. */
  function withoutSecrets(text: string): string {
    const secrets = [context.secret, request.credential ?? ''].filter((secret) => secret !== '');
    return secrets.reduce((clean, secret) => clean.replaceAll(secret, '[secret]'), text);
  }

  function abortedOutcome(): TurnOutcome {
    if (interruption.aborted) return { outcome: 'interrupted', error: null };
    return { outcome: 'failed', error: String(watch.signal.reason), failure: 'timed_out' };
  }
}

const unknownFailure = new AgentFailure('The agent ended for an unknown reason.');
/** Room for what else stands in the event. */
const maxBytes = engineLimits.eventBytes - 2_000;
/** Of a sentence, as the protocol has it. */
const maxCharacters = 4_000;
const graceMs = 10_000;

/**
 * An agent that does not listen to the signal is waited for only so long, and then ended. What it does at its end is
 * waited for as well, or it would meet the next turn.
 */
async function giveUpAfter(
  signal: AbortSignal,
  { work, end }: { work: Promise<void>; end(): Promise<void> },
): Promise<void> {
  if (!signal.aborted)
    await new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }));
  const ended = work.then(
    () => true,
    () => true,
  );
  if (await Promise.race([ended, delay(graceMs, false, { ref: false })])) return;
  await end();
  await Promise.race([work, delay(graceMs, undefined, { ref: false })]);
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
