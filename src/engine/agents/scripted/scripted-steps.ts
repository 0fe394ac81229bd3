import { AgentFailure } from '../agent.ts';

export type Step =
  | { say: string }
  | { run: string }
  | { write: { path: string; content: string } }
  | { sleepMs: number }
  | { canvas: { name: string; content: string } }
  | { fail: string };

/** The steps after `SCRIPT:` in a message, or null when it has none. */
export function readSteps(message: string): Step[] | null {
  const start = /SCRIPT:\s*\[/.exec(message);
  if (start === null) return null;
  const text = message.slice(start.index + start[0].length - 1);
  const steps = parse(text.slice(0, endOfList(text)));
  const wrong = steps.findIndex((step) => !isStep(step));
  if (wrong >= 0)
    throw new AgentFailure(`Step ${wrong + 1} of the script is not one the scripted agent knows.`);
  return steps as Step[];
}

function parse(text: string): unknown[] {
  try {
    return JSON.parse(text) as unknown[];
  } catch (cause) {
    throw new AgentFailure('The script is not a list in JSON.', { cause });
  }
}

/** Where the list that the text begins with is closed, so that a message may go on after it. */
function endOfList(text: string): number {
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (isInText && character === '\\') at += 1;
    else if (character === '"') isInText = !isInText;
    else if (!isInText && character === '[') depth += 1;
    else if (!isInText && character === ']') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

const isText = (value: unknown) => typeof value === 'string';
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const shapes: Record<string, (value: unknown) => boolean> = {
  say: isText,
  run: isText,
  fail: isText,
  sleepMs: (value) => typeof value === 'number' && value >= 0 && value <= 3_600_000,
  write: (value) => isObject(value) && isText(value.path) && isText(value.content),
  canvas: (value) => isObject(value) && isText(value.name) && isText(value.content),
};

function isStep(step: unknown): boolean {
  if (!isObject(step)) return false;
  const [kind = '', ...others] = Object.keys(step);
  return others.length === 0 && Object.hasOwn(shapes, kind) && shapes[kind]?.(step[kind]) === true;
}
