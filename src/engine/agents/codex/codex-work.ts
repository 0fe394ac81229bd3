import { isDeepStrictEqual } from 'node:util';
import { orAbort } from '../../or-abort.ts';
import type { TurnRequest } from '../../protocol.ts';
import { AgentFailure, type AgentTurn, agentDied, type JsonObject } from '../agent.ts';
import type { AgentProcess } from '../agent-process.ts';
import { codexFailure } from './codex-failure.ts';
import { codexGoal, codexInput } from './codex-input.ts';
import type { Rollout } from './codex-rollout.ts';
import type { CodexRpc } from './codex-rpc.ts';
import { codexSettings } from './codex-settings.ts';
import type { CodexThread } from './codex-thread.ts';
import { type CodexTurn, followCodex } from './codex-turn.ts';

export type CodexWork = {
  run(turn: AgentTurn): Promise<void>;
  /** Takes what codex says. */
  hear(method: string, params: JsonObject): Promise<void>;
  /** Resolves when nothing is being worked on. */
  idle(): Promise<void>;
};

/** Works on messages in one conversation, one after the other. */
export function createCodexWork(options: {
  agent: Pick<AgentProcess, 'ended' | 'close'>;
  rpc: CodexRpc;
  thread: CodexThread;
  rollout: Rollout;
  /** Whether it has processes of its own that an interruption kills, and that it does not start anew. */
  hasLocalServers: boolean;
}): CodexWork {
  const { agent, rpc, thread, rollout, hasLocalServers } = options;
  const threadId = thread.id;
  let current: CodexTurn | null = null;
  let running = Promise.resolve();
  /** The settings that codex has kept, as far as that is certain. Told of them again, it would take its time. */
  let kept: JsonObject | null = null;

  async function work(turn: AgentTurn): Promise<void> {
    turn.signal.throwIfAborted();
    const followed = followCodex(turn, { threadId, rollout });
    current = followed;
    const settings = codexSettings(turn.request, thread.usualModel);
    const changed = isDeepStrictEqual(settings, kept) ? null : settings;
    kept = null;
    let ended: JsonObject | null = null;
    let isRefused = false;
    try {
      await begin(turn, changed).catch((error: unknown) => {
        isRefused = error instanceof AgentFailure && error.kind === 'agent_failed';
        throw error;
      });
      turn.signal.throwIfAborted();
      ended = await orAbort(Promise.race([followed.done, failWhenEnded()]), turn.signal);
      if (followed.hasGoal()) await rpc.ask('thread/goal/clear', { threadId });
      const failure = codexFailure(ended);
      if (failure) throw failure;
      kept = settings;
    } finally {
      // Codex must not go on with what nobody follows any more. What it has refused it has not begun.
      if (ended === null && !isRefused) {
        await interrupt(followed, turn.request);
        await followed.catchUp().catch(() => {});
      }
      current = null;
    }
  }

  async function begin({ request, delta }: AgentTurn, settings: JsonObject | null): Promise<void> {
    if (request.goalMode && request.planMode) await delta({ type: 'notice', text: onlyPlanned });
    if (!request.goalMode || request.planMode) {
      const input = codexInput(request, thread.commands);
      await rpc.ask('turn/start', { threadId, input, ...settings });
      return;
    }
    const { objective, items } = codexGoal(request);
    if (settings) await rpc.ask('thread/settings/update', { threadId, ...settings });
    if (items.length > 0) await rpc.ask('thread/inject_items', { threadId, items });
    await rpc.ask('thread/goal/set', { threadId, objective, status: 'active', origin: 'user' });
  }

  /** A codex that does not stop in time, or that would go on in another way, is ended. */
  async function interrupt(followed: CodexTurn, { goalMode }: TurnRequest): Promise<void> {
    const limit = AbortSignal.timeout(INTERRUPTION_MS);
    const ask = (method: string, params: JsonObject = {}) =>
      rpc.ask(method, { threadId, ...params }, INTERRUPTION_MS);
    try {
      if (goalMode || followed.hasGoal()) await ask('thread/goal/clear');
      await orAbort(followed.begun, limit);
      await ask('turn/interrupt', { turnId: followed.id() });
      await orAbort(followed.done, limit);
      // What the turn has started goes on beyond it otherwise.
      await ask('thread/backgroundTerminals/clean');
      if (followed.hasHelpers() || hasLocalServers) await agent.close();
    } catch {
      await agent.close();
    }
  }

  /** Waits for as long as codex runs, so that it must not hold on to anything of the turn. */
  async function failWhenEnded(): Promise<never> {
    await agent.ended;
    throw agentDied();
  }

  return {
    run(turn) {
      const run = work(turn);
      running = run.catch(() => {});
      return run;
    },
    hear: async (method, params) => current?.hear(method, params),
    idle: () => running,
  };
}

const INTERRUPTION_MS = 4_000;
const onlyPlanned = 'In plan mode a goal is not pursued: the message is planned for, and nothing is done.';
