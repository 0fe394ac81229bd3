import type { Turn } from './find-turn.ts';
import { quote } from './quote.ts';
import type { Step } from './step.ts';

const MAX_REQUEST_CHARACTERS = 200;
const MAX_EXCUSE_CHARACTERS = 300;
/** Said by the command when it has done its work, which no refusal of a tool says. */
const DONE = 'NOTES.md has a new line.';
/** The tool by which claude shows a plan. */
const PLAN_TOOL = 'ExitPlanMode';

const ABOUT =
  'I am the offline model of this service: I follow fixed rules and understand nothing. ' +
  'For real work an admin sets the API key of this agent with PUT /v1/organization/coding-agents/{agent}.';

/** What the model says where it is offered no tool at all, as for the title of a conversation. */
export const sideStep: Step = { text: 'Offline model' };

/** What the model says where a step needs a tool that it is not offered. */
export const helplessStep: Step = { text: `I have no tool for what I should do. ${ABOUT}` };

/** What the model says when every step is done. */
export const finalStep: Step = { text: 'Done.' };

/**
 * The turn of a message without a script. It shows what an agent does with a tool: one line with the user's request is
 * added to NOTES.md, then the model says what came of it. Where it shall only plan, it says that it would.
 */
export function demoStep({ message, results, isPlanned }: Turn, tools: ReadonlySet<string>): Step {
  const result = results.at(-1);
  if (isPlanned) {
    const plan = `I would add the first line of your request to NOTES.md. ${ABOUT}`;
    return result === undefined && tools.has(PLAN_TOOL)
      ? { tool: PLAN_TOOL, args: { plan } }
      : { text: plan };
  }
  if (result === undefined) return { shell: addLine(`- ${firstLine(message)}`) };
  if (result.includes(DONE)) return { text: `I added the first line of your request to NOTES.md. ${ABOUT}` };
  const excuse = printable(result, MAX_EXCUSE_CHARACTERS);
  return {
    text: `I could not add your request to NOTES.md. The tool said: ${excuse || 'nothing'}\n\n${ABOUT}`,
  };
}

/** The agent may stand above its repositories: then the first of them is taken. */
function addLine(line: string): string {
  const choose = 'for folder in ./ */; do [ -e "$folder.git" ] && break; folder=./; done';
  return `${choose}; printf '%s\\n' ${quote(line)} >> "$folder"NOTES.md && echo ${quote(DONE)}`;
}

function firstLine(message: string): string {
  const line = message.trimStart().split(/[\r\n]/, 1)[0] ?? '';
  return printable(line, MAX_REQUEST_CHARACTERS) || 'a message without words';
}

/** The beginning without control characters and what else is not seen, which a terminal or an editor might obey. */
function printable(text: string, maxCharacters: number): string {
  return text
    .slice(0, maxCharacters)
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim();
}
