import type { JsonObject } from '../agent.ts';
import { objectAt, textAt } from '../json-fields.ts';

export type ClaudePermission = {
  response: JsonObject;
  /** The plan that claude has made, when that is what it asks about. */
  plan: string | null;
};

/**
 * The answer when claude asks before it uses a tool. With all permissions it asks only where the rules of the user or the
 * repository want somebody to allow it, which nobody is there for; in plan mode it asks about whatever it does not know
 * to be harmless, and about the plan itself, with which the turn ends.
 */
export function answerClaude(request: JsonObject, { isPlanning }: { isPlanning: boolean }): ClaudePermission {
  const tool = textAt(request, 'tool_name');
  const input = objectAt(request, 'input');
  if (tool === 'ExitPlanMode') {
    const message = 'The plan was shown to the user, who answers in the next message.';
    return { response: { behavior: 'deny', message, interrupt: true }, plan: textAt(input, 'plan') };
  }
  if (!isPlanning || readingTools.has(tool))
    return { response: { behavior: 'allow', updatedInput: input }, plan: null };
  const message = 'This is not possible in plan mode: look around and make a plan, but change nothing.';
  return { response: { behavior: 'deny', message }, plan: null };
}

const readingTools = new Set([
  'Agent',
  'Glob',
  'Grep',
  'LS',
  'Read',
  'Skill',
  'Task',
  'WebFetch',
  'WebSearch',
]);
