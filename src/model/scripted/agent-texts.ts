/**
 * Texts by which agents tell their model something that is not the user's message. They are known from what the agents
 * send; one that is not known here is taken for a message, which does no harm beyond a line more in a demonstration.
 */

const TAG = /^<\/?([a-z][\w-]*)[^<>]*>/i;
const BROKEN_OFF = /^\s*(\[Request interrupted|<turn_aborted>)/;
const ABORTED = /User aborted the command|Tool execution aborted|aborted by user/;
const SUMMARY =
  /^\s*(CRITICAL: Respond with TEXT ONLY|Your task is to create a detailed summary|You are performing a CONTEXT CHECKPOINT|Create a new anchored summary)/;
const PLAN_ON = /^\s*(<[\w-]+>\s*)?(#+ )?Plan mode/i;
const PLAN_OFF =
  /^\s*(<[\w-]+>\s*)?(#+ )?(Exited plan mode|Collaboration mode: default|Your operational mode has changed)/i;
/** How much of a tool's last words is looked at. */
const LAST_CHARACTERS = 500;

/** Whether a text of the user's was added by the agent: context, reminders, instructions of the repository. */
export function isAdded(text: string): boolean {
  const trimmed = text.trim();
  const [tag, name] = TAG.exec(trimmed) ?? [];
  if (tag === undefined) return /^(\[Image|# AGENTS\.md)/.test(trimmed);
  return tag === trimmed || trimmed.endsWith(`</${name}>`);
}

/** Whether a text says that the turn before it was broken off. */
export function isBrokenOff(text: string): boolean {
  return BROKEN_OFF.test(text);
}

/** Whether a tool ended because the turn was broken off. */
export function isAborted(result: string): boolean {
  return ABORTED.test(result.slice(-LAST_CHARACTERS));
}

/** Whether a text asks for a summary, with which an agent goes on when a conversation is too long for its model. */
export function isSummaryRequest(text: string): boolean {
  return SUMMARY.test(text);
}

/** Whether the model shall only plan from here on; null when the text says nothing about it. */
export function plansFrom(text: string): boolean | null {
  if (PLAN_OFF.test(text)) return false;
  return PLAN_ON.test(text) ? true : null;
}
