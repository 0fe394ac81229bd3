import { setTimeout as delay } from 'node:timers/promises';
import type { AgentTurn, JsonObject } from '../agent.ts';
import { gatherText } from '../gather-text.ts';
import { objectAt, textAt } from '../json-fields.ts';
import { beginningOf, endOf } from './codex-delta.ts';
import { isHistory, type Rollout, type RolloutLine } from './codex-rollout.ts';

export type CodexTurn = {
  /** Takes what codex says while it works on the message. */
  hear(method: string, params: JsonObject): Promise<void>;
  /** Puts into the history what codex has written down and was not looked at yet. */
  catchUp(): Promise<void>;
  /** Resolves when codex has begun to work. */
  begun: Promise<void>;
  /** Codex's own name of what it works on, which is another one for each lap. */
  id(): string;
  /** How the work, or its last lap, has ended. */
  done: Promise<JsonObject>;
  /** Whether codex would go on by itself. */
  hasGoal(): boolean;
  /** Whether it has let others work for it, in conversations of their own. */
  hasHelpers(): boolean;
};

/**
 * Makes history and live pieces of what codex does with one message. Where it has a goal, that is many turns of its
 * own, lap after lap until the goal is reached or given up.
 */
export function followCodex(
  turn: Pick<AgentTurn, 'request' | 'message' | 'delta' | 'heard'>,
  { threadId, rollout }: { threadId: string; rollout: Rollout },
): CodexTurn {
  const text = gatherText(turn);
  const begun = Promise.withResolvers<void>();
  const done = Promise.withResolvers<JsonObject>();
  // Whoever does not wait for it any more must not be hit by it.
  done.promise.catch(() => {});
  const endedTurns = new Set<string>();
  let id = '';
  let hasGoal = false;
  let goalStatus: unknown = null;
  let hasHelpers = false;
  let nextLap: NodeJS.Timeout | undefined;
  let looked = Promise.resolve();

  const listeners: Record<string, (params: JsonObject) => void | Promise<void>> = {
    'turn/started'(params) {
      clearTimeout(nextLap);
      id = textAt(objectAt(params, 'turn'), 'id');
      begun.resolve();
    },
    'item/agentMessage/delta': (params) => text.add('text', textAt(params, 'delta')),
    'item/reasoning/summaryTextDelta': (params) => text.add('thinking', textAt(params, 'delta')),
    'item/reasoning/textDelta': (params) => text.add('thinking', textAt(params, 'delta')),
    'item/started': (params) => show(beginningOf(objectAt(params, 'item'))),
    async 'item/completed'(params) {
      await show(endOf(objectAt(params, 'item')));
      await catchUp();
    },
    'thread/tokenUsage/updated': () => catchUp(),
    async error(params) {
      const { message, additionalDetails } = objectAt(params, 'error');
      if (params.willRetry === true) await show({ type: 'retry', message: additionalDetails ?? message });
    },
    async 'thread/goal/updated'(params) {
      const { objective, status, tokensUsed, timeUsedSeconds } = objectAt(params, 'goal');
      hasGoal = status === 'active';
      if (status === goalStatus) return;
      goalStatus = status;
      await show({ type: 'goal', objective, status, tokensUsed, timeUsedSeconds });
    },
    'thread/goal/cleared'() {
      hasGoal = false;
    },
    async 'turn/completed'(params) {
      const ended = objectAt(params, 'turn');
      await text.flush();
      await catchUpTo(textAt(ended, 'id'));
      // While it plans, codex does not pursue a goal.
      const goesOn = hasGoal && ended.status === 'completed' && !turn.request.planMode;
      if (goesOn) nextLap = setTimeout(() => done.resolve(ended), NEXT_LAP_MS).unref();
      else done.resolve(ended);
    },
  };

  async function show(event: JsonObject | null): Promise<void> {
    if (event === null) return;
    await text.flush();
    await turn.delta(event);
  }

  /** One look after the other: two at once would see the same. */
  function catchUp(): Promise<void> {
    const look = looked.then(async () => {
      for (let lines = await rollout.read(); lines.length > 0; lines = await rollout.read())
        for (const line of lines) await take(line);
    });
    looked = look.catch(() => {});
    return look;
  }

  async function take(line: RolloutLine): Promise<void> {
    if (endings.has(textAt(line.payload, 'type'))) endedTurns.add(textAt(line.payload, 'turn_id'));
    if (!isHistory(line)) return;
    await text.flush();
    await turn.message(line.type, line.payload);
  }

  /** Codex writes the end down before it tells it; only a slow disk may have yet to show it. */
  async function catchUpTo(turnId: string): Promise<void> {
    const limit = performance.now() + WRITTEN_MS;
    for (;;) {
      await catchUp();
      if (endedTurns.has(turnId) || performance.now() > limit) return;
      await delay(LOOK_AGAIN_MS);
    }
  }

  return {
    async hear(method, params) {
      const saidBy = textAt(params, 'threadId');
      hasHelpers ||= saidBy !== threadId && saidBy !== '';
      if (saidBy !== '') turn.heard();
      if (saidBy !== threadId) return;
      try {
        if (Object.hasOwn(listeners, method)) await listeners[method]?.(params);
      } catch (error) {
        done.reject(error);
      }
    },
    catchUp,
    begun: begun.promise,
    id: () => id,
    done: done.promise,
    hasGoal: () => hasGoal,
    hasHelpers: () => hasHelpers,
  };
}

const endings = new Set(['task_complete', 'turn_aborted']);
/** The next lap begins within milliseconds; if it does not, codex has given up. */
const NEXT_LAP_MS = 10_000;
const WRITTEN_MS = 1_000;
const LOOK_AGAIN_MS = 20;
