import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Agent } from './agents/agent.ts';
import { agents as allAgents } from './agents/agents.ts';
import { runAgent } from './agents/run-agent.ts';
import { createSessions } from './agents/sessions.ts';
import { createBackOff } from './back-off.ts';
import type { Canvas } from './canvas.ts';
import type { EngineContext } from './context.ts';
import { type JournalEntry, openJournal, type TurnOutcome } from './journal.ts';
import type { EngineReport, TurnRequest } from './protocol.ts';
import { EngineRefusal } from './refusal.ts';
import type { Repositories } from './repositories.ts';

export type Turns = {
  /** Resolves when the turn is certain to be run or reported as failed. The same id twice is one turn. */
  start(request: TurnRequest): Promise<void>;
  /** Says whether there was anything to interrupt. A turn that is not known yet is interrupted when it comes. */
  interrupt(id: string): Promise<boolean>;
  /** Ends the agent of a chat that is gone, with the turn in it, and removes what is kept of its conversation. */
  forgetChat(chatId: string): Promise<void>;
  /** The turns whose end is yet to be reported. */
  inWork(): string[];
  /** Reports the turns that a process before this one has begun and not finished. */
  recover(): Promise<void>;
  /** Ends what is running; the next engine reports it as failed. */
  closeAll(): Promise<void>;
};

type Running = {
  request: TurnRequest;
  interruption: AbortController;
  isAgentDone: boolean;
  admitted: Promise<void>;
  ended: Promise<void>;
};

/**
 * Runs turns: one at a time in a chat, chats beside each other. A turn is in the journal before anything happens and
 * leaves it after its end was reported, so that a kill at any moment neither loses nor repeats it. A kill in the moment
 * between the last two reports the same end twice, and the first counts.
 */
export function createTurns(options: {
  context: EngineContext;
  repositories: Pick<Repositories, 'capture'>;
  canvas: Pick<Canvas, 'sync'>;
  agents?: Record<string, Agent>;
}): Turns {
  const { context, repositories, canvas, agents = allAgents } = options;
  const journal = openJournal(join(context.folder, 'engine', 'turns'), { keep: 1_000 });
  const sessions = createSessions(context);
  const running = new Map<string, Running>();
  const left = new Map(journal.unfinished().map((entry) => [entry.id, entry]));
  /** Interrupted before they came, as when the request that brings one is slow and whoever sent it has given up. */
  const takenBack = new Set<string>();
  const closing = new AbortController();

  function admit(request: TurnRequest, agent: Agent): Running {
    const entry: JournalEntry = { id: request.id, chatId: request.chatId, outcome: null };
    const admitted = journal.write(entry).catch((cause: unknown) => {
      context.log(`a turn cannot be written to the journal: ${String(cause)}`);
      throw new EngineRefusal(
        503,
        'The message cannot be taken: the disk of the workspace cannot be written.',
      );
    });
    const interruption = new AbortController();
    const turn: Running = { request, interruption, isAgentDone: false, admitted, ended: Promise.resolve() };
    turn.ended = admitted
      .then(() => run(turn, agent))
      .catch(noteLoss)
      .finally(() => running.delete(request.id));
    running.set(request.id, turn);
    if (takenBack.delete(request.id)) interruption.abort(interrupted());
    return turn;
  }

  function takeBack(id: string): void {
    takenBack.add(id);
    const [oldest = ''] = takenBack;
    if (takenBack.size > MAX_TAKEN_BACK) takenBack.delete(oldest);
  }

  function noteLoss(error: unknown): void {
    if (!(error instanceof EngineRefusal)) context.log(`a turn is left to the next start: ${String(error)}`);
  }

  async function run(turn: Running, agent: Agent): Promise<void> {
    const { request, interruption } = turn;
    const outcome = await runAgent({ context, sessions, agent, request, signal: interruption.signal });
    turn.isAgentDone = true;
    closing.signal.throwIfAborted();
    await copyOut();
    await finish({ id: request.id, chatId: request.chatId, outcome });
  }

  /** What fails here is tried again after the next turn; the turn itself has done its work. */
  async function copyOut(): Promise<void> {
    const copies = Promise.allSettled([canvas.sync(), repositories.capture()]);
    const settled = await Promise.race([copies, delay(copyOutMs, null, { ref: false })]);
    if (settled === null) context.log('warning: the work of a turn is not copied out yet');
    for (const copy of settled ?? [])
      if (copy.status === 'rejected')
        context.log(`warning: the work of a turn is not copied out: ${String(copy.reason)}`);
  }

  async function finish(entry: JournalEntry & { outcome: TurnOutcome }): Promise<void> {
    const { id: turnId, chatId, outcome } = entry;
    // Whoever finds it after a kill reports this outcome and no other.
    await journal
      .write(entry)
      .catch((error: unknown) => context.log(`the journal cannot be written: ${String(error)}`));
    await untilReported({ type: 'turn.finished', payload: { turnId, chatId, ...outcome } });
    await journal
      .finish(turnId)
      .catch((error: unknown) => context.log(`the journal cannot be written: ${String(error)}`));
  }

  /** A chat whose turn never ends would be stuck, so that this is given up only when the engine ends. */
  async function untilReported(report: EngineReport): Promise<void> {
    const backOff = createBackOff({ leastMs: 100, mostMs: 10_000 });
    for (;;) {
      try {
        return await context.report(report);
      } catch (error) {
        closing.signal.throwIfAborted();
        context.log(`the end of a turn is not reported: ${String(error)}`);
        await backOff.wait(closing.signal);
      }
    }
  }

  async function forget(chatId: string): Promise<void> {
    await sessions.forget(chatId);
    for (const agent of Object.values(agents)) agent?.forget?.(context.home, chatId);
  }

  return {
    async start(request) {
      const same = running.get(request.id);
      if (same !== undefined) return same.admitted;
      if (journal.has(request.id)) return;
      if (closing.signal.aborted) throw new EngineRefusal(503, 'The workspace is stopping.');
      const agent = Object.hasOwn(agents, request.agent) ? agents[request.agent] : undefined;
      if (agent === undefined) throw new EngineRefusal(400, `This workspace has no agent ${request.agent}.`);
      if ([...running.values()].some((turn) => turn.request.chatId === request.chatId))
        throw new EngineRefusal(
          409,
          'The chat is busy with another message. Wait for its end or interrupt it.',
        );
      await admit(request, agent).admitted;
    },
    async interrupt(id) {
      const turn = running.get(id);
      if (turn === undefined && !journal.has(id)) takeBack(id);
      if (turn === undefined || turn.isAgentDone) return false;
      turn.interruption.abort(interrupted());
      return true;
    },
    async forgetChat(chatId) {
      const last = [...running.values()].find(({ request }) => request.chatId === chatId);
      if (last === undefined) return forget(chatId);
      last.interruption.abort(interrupted());
      // Its end may take longer than anybody wants to wait for an answer.
      void last.ended
        .then(() => forget(chatId))
        .catch((error: unknown) => context.log(`a chat is not forgotten: ${String(error)}`));
    },
    inWork: () => [...left.keys(), ...running.keys()],
    async recover() {
      for (const entry of left.values()) {
        await finish({ ...entry, outcome: entry.outcome ?? stopped });
        left.delete(entry.id);
      }
    },
    async closeAll() {
      closing.abort(new Error('the engine is ending'));
      for (const { interruption } of running.values()) interruption.abort(new Error('the engine is ending'));
      const ended = Promise.all([...running.values()].map((turn) => turn.ended));
      await Promise.race([ended.then(sessions.closeAll), delay(closeMs, null, { ref: false })]);
    },
  };
}

const stopped: TurnOutcome = {
  outcome: 'failed',
  error: 'The workspace stopped while the agent was working on this message.',
  failure: 'stopped',
};
const interrupted = () => new Error('interrupted');
/** More than come late at once in any workspace. */
const MAX_TAKEN_BACK = 1_000;
const copyOutMs = 150_000;
const closeMs = 5_000;
