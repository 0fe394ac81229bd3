import type { SlashCommand, TurnRequest } from '../../protocol.ts';
import type { JsonObject } from '../agent.ts';

type Request = Pick<TurnRequest, 'message' | 'images'>;

/** What codex is given to work on. A skill, which users call as a command, is called `$name` by codex. */
export function codexInput({ message, images }: Request, commands: readonly SlashCommand[]): JsonObject[] {
  const name = /^\/([\w:.-]+)/.exec(message)?.[1];
  const isSkill = commands.some(({ command }) => command === name);
  return [
    { type: 'text', text: isSkill ? `$${message.slice(1)}` : message, text_elements: [] },
    ...images.map((image) => ({ type: 'image', url: dataUrl(image) })),
  ];
}

export type CodexGoal = {
  objective: string;
  /** What the model has to see before, since a goal is a short text only. */
  items: JsonObject[];
};

export function codexGoal({ message, images }: Request): CodexGoal {
  const characters = [...message];
  const isWhole = characters.length <= MAX_OBJECTIVE_CHARACTERS;
  const shown = images.map((image) => ({ type: 'input_image', image_url: dataUrl(image) }));
  const content = [{ type: 'input_text', text: message }, ...shown];
  return {
    objective: isWhole
      ? message
      : `${characters.slice(0, MAX_OBJECTIVE_CHARACTERS - CONTINUED.length).join('')}${CONTINUED}`,
    items: isWhole && images.length === 0 ? [] : [{ type: 'message', role: 'user', content }],
  };
}

/** Codex takes no more. */
const MAX_OBJECTIVE_CHARACTERS = 4_000;
const CONTINUED = '… (the whole of it is in the message before)';

function dataUrl({ mediaType, dataBase64 }: TurnRequest['images'][number]): string {
  return `data:${mediaType};base64,${dataBase64}`;
}
