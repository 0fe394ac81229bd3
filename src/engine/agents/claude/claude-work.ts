import { setTimeout as delay } from 'node:timers/promises';
import { orAbort } from '../../or-abort.ts';
import type { TurnRequest } from '../../protocol.ts';
import { type AgentTurn, agentDied, type JsonObject } from '../agent.ts';
import type { AgentProcess } from '../agent-process.ts';
import { objectAt } from '../json-fields.ts';
import { efforts } from '../thinking-level.ts';
import type { ClaudeControl } from './claude-control.ts';
import { claudeFailure } from './claude-failure.ts';
import { answerClaude } from './claude-permission.ts';
import { type ClaudeTurn, followClaude } from './claude-turn.ts';

export type ClaudeWork = {
  /** Works on one message at a time. */
  run(turn: AgentTurn): Promise<void>;
  /** Takes what claude says; between turns nobody listens. */
  hear(message: JsonObject): Promise<void>;
};

export function createClaudeWork({
  agent,
  control,
}: {
  agent: AgentProcess;
  control: ClaudeControl;
}): ClaudeWork {
  let current: ClaudeTurn | null = null;
  let isPlanning = false;
  let isPlanShown = false;
  const told = new Map<string, string>();

  async function adjust({ model, thinkingLevel, planMode, fastMode }: TurnRequest): Promise<void> {
    const settings = { effortLevel: efforts.claude[thinkingLevel], fastMode };
    await Promise.all([
      tell({ subtype: 'set_permission_mode', mode: planMode ? 'plan' : 'bypassPermissions' }),
      tell({ subtype: 'set_model', model }),
      tell({ subtype: 'apply_flag_settings', settings }),
    ]);
  }

  /** What claude knows already it is not told again: it would read all of its settings anew, and take its time. */
  async function tell(request: JsonObject & { subtype: string }): Promise<void> {
    const { subtype } = request;
    const text = JSON.stringify(request);
    if (told.get(subtype) === text) return;
    told.delete(subtype);
    await control.ask(request);
    told.set(subtype, text);
  }

  async function failWhenEnded(): Promise<never> {
    await agent.ended;
    throw agentDied();
  }

  /** Claude keeps what it has done so far; one that does not stop is ended, and resumed by the next message. */
  async function interrupt({ done }: ClaudeTurn): Promise<void> {
    await control.ask({ subtype: 'interrupt', cancel_queued: true }, INTERRUPT_MS).catch(() => {});
    const stopped = done.then(
      () => true,
      () => false,
    );
    const late = delay(INTERRUPT_MS, false, { ref: false });
    if (!(await Promise.race([stopped, late, agent.ended.then(() => false)]))) await agent.close();
  }

  async function answer({ request_id, request }: JsonObject): Promise<void> {
    const asked = objectAt({ request }, 'request');
    if (asked.subtype !== 'can_use_tool') {
      const error = 'Nobody is here to answer this.';
      agent.send({ type: 'control_response', response: { subtype: 'error', request_id, error } });
      return;
    }
    const { response, plan } = answerClaude(asked, { isPlanning });
    agent.send({ type: 'control_response', response: { subtype: 'success', request_id, response } });
    if (plan === null) return;
    isPlanShown = true;
    await current?.showPlan(plan);
  }

  return {
    async run(turn) {
      const { request, signal } = turn;
      await orAbort(adjust(request), signal);
      const following = followClaude(turn);
      current = following;
      isPlanning = request.planMode;
      isPlanShown = false;
      try {
        agent.send(toUserMessage(request));
        const result = await orAbort(Promise.race([following.done, failWhenEnded()]), signal).catch(
          async (error: unknown) => {
            await interrupt(following);
            throw error;
          },
        );
        const failure = claudeFailure(result);
        // The end of a turn by a plan looks like a failure.
        if (failure !== null && !isPlanShown) throw failure;
      } finally {
        current = null;
        // A command of the user may have changed the same things.
        if (request.message.startsWith('/')) told.clear();
      }
    },
    hear: async (message) => (message.type === 'control_request' ? answer(message) : current?.hear(message)),
  };
}

const INTERRUPT_MS = 3_000;

/** By the id of the message claude says later when it is done with it. */
function toUserMessage({ id, message, images }: TurnRequest): JsonObject {
  const text = message === '' && images.length > 0 ? [] : [{ type: 'text', text: message }];
  const pictures = images.map(({ mediaType, dataBase64 }) => ({
    type: 'image',
    source: { type: 'base64', media_type: mediaType, data: dataBase64 },
  }));
  return { type: 'user', uuid: id, message: { role: 'user', content: [...text, ...pictures] } };
}
