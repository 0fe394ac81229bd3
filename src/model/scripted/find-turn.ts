import { isAborted, isAdded, isBrokenOff, plansFrom } from './agent-texts.ts';
import type { Item } from './conversation.ts';
import { hasScript } from './read-script.ts';

/** The message that is being worked on, and what came of it so far. */
export type Turn = {
  message: string;
  /** What the tools have said since. */
  results: string[];
  /** Whether the model shall say what it would do, and do nothing. */
  isPlanned: boolean;
};

/**
 * Finds the message that the model has to answer. The request is all there is to go by, since nothing is remembered
 * from one to the next: agents are killed and resume, and many chats run at once.
 *
 * A text with a script always begins a turn. Any other text does when the turn before it is over: the model has called
 * no tool, or the turn was broken off. Agents also add texts in the middle of a turn, behind the results of tools; if
 * such a text began a turn, the turn would never end.
 */
export function findTurn(items: readonly Item[]): Turn {
  let message = '';
  let results: string[] = [];
  let isPlanned = false;
  let isWorking = false;
  for (const item of items) {
    if (item.kind === 'assistant') isWorking = false;
    else if (item.kind === 'call') isWorking = true;
    else if (item.kind === 'result') {
      results.push(item.text);
      if (isAborted(item.text)) isWorking = false;
    } else if (isBrokenOff(item.text)) isWorking = false;
    else if (item.kind === 'note' || (isAdded(item.text) && !hasScript(item.text)))
      isPlanned = plansFrom(item.text) ?? isPlanned;
    else if (!isWorking || hasScript(item.text)) {
      message = item.text;
      results = [];
      isWorking = false;
    }
  }
  return { message, results, isPlanned };
}
