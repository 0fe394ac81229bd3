import { isSummaryRequest } from './agent-texts.ts';
import type { Conversation } from './conversation.ts';
import { demoStep, finalStep, helplessStep, sideStep } from './demo.ts';
import { findTurn } from './find-turn.ts';
import { readScript } from './read-script.ts';
import type { Step } from './step.ts';
import { type ToolCall, toolCallFor } from './tool-call.ts';

/** What the model does with a request. */
export type Decision = { step: Step; call: ToolCall | null };

/** The next step of the script in the last message that has one: the one after as many tools as have answered. */
export function decide(conversation: Conversation): Decision {
  if (isSideRequest(conversation)) return { step: sideStep, call: null };
  const { items, tools } = conversation;
  const turn = findTurn(items);
  const steps = readScript(turn.message);
  const step = steps === null ? demoStep(turn, tools) : (steps[turn.results.length] ?? finalStep);
  const call = toolCallFor(step, tools);
  const needsTool = step.shell !== undefined || step.write !== undefined;
  return needsTool && call === null ? { step: helplessStep, call } : { step, call };
}

/** What agents ask besides their conversations, as for a title or a summary. */
function isSideRequest({ items, tools }: Conversation): boolean {
  const last = items.findLast(({ kind }) => kind === 'user');
  return tools.size === 0 || (last?.kind === 'user' && isSummaryRequest(last.text));
}
