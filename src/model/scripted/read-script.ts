import { parseJsonBody } from '../../lib/json-body.ts';
import { RequestError } from './conversation.ts';
import { type Step, script } from './step.ts';

/** A list of objects or an empty list; prose that only mentions `SCRIPT:[…]` is no script. */
const OPENING = /SCRIPT:\s*(?=\[\s*[{\]])/g;

/** Arguments of tools can be objects in objects. */
const MAX_DEPTH = 100;
const MAX_SCRIPT_CHARACTERS = 200_000;
const MAX_STEPS = 1_000;
const MAX_COMPLAINT_CHARACTERS = 300;

export function hasScript(text: string): boolean {
  return text.search(OPENING) >= 0;
}

/** The steps of the last `SCRIPT:[…]` in a text, or null when it has none. */
export function readScript(text: string): Step[] | null {
  let last: string | null = null;
  OPENING.lastIndex = 0;
  while (OPENING.test(text)) {
    const start = OPENING.lastIndex;
    // What stands inside a script, such as the script for another conversation, is a part of it.
    OPENING.lastIndex = endOfList(text, start);
    last = text.slice(start, OPENING.lastIndex);
  }
  return last === null ? null : parseSteps(last);
}

function parseSteps(text: string): Step[] {
  // What a step says is repeated in its answer, in some APIs many times over.
  if (text.length > MAX_SCRIPT_CHARACTERS)
    throw new RequestError(`The script has more than ${MAX_SCRIPT_CHARACTERS} characters.`);
  const list = parseJson(text);
  if (Array.isArray(list) && list.length > MAX_STEPS)
    throw new RequestError(`The script has more than ${MAX_STEPS} steps.`);
  const parsed = script.safeParse(list);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const [at, ...path] = issue?.path ?? [];
  const complaint = [...path, issue?.message].join(': ').slice(0, MAX_COMPLAINT_CHARACTERS);
  throw new RequestError(
    `Step ${Number(at) + 1} of the script is not one the offline model knows: ${complaint}`,
  );
}

function parseJson(text: string): unknown {
  try {
    return parseJsonBody(Buffer.from(text), { maxDepth: MAX_DEPTH });
  } catch (cause) {
    throw new RequestError('The script is not a list in JSON.', { cause });
  }
}

/** Where the list that begins at `start` is closed, so that a text may go on after it. */
function endOfList(text: string, start: number): number {
  let depth = 0;
  let isInString = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (isInString && character === '\\') at += 1;
    else if (character === '"') isInString = !isInString;
    else if (!isInString && character === '[') depth += 1;
    else if (!isInString && character === ']') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}
