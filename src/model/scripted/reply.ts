import type { Conversation } from './conversation.ts';
import { countTextTokens } from './count-tokens.ts';
import type { Step, Usage } from './step.ts';
import type { ToolCall } from './tool-call.ts';

/** What the model answers, before it is written in the form of one of the APIs. */
export type Reply = {
  model: string;
  /** Makes an id with the prefix by which an API marks what it names. */
  id(prefix: string): string;
  createdAt: Date;
  thinking: string | null;
  /** The text in the pieces in which it is streamed. */
  pieces: string[];
  delayMs: number;
  call: ToolCall | null;
  /** Whether the connection breaks off after the text. */
  isDropped: boolean;
  usage: Usage;
};

/** An answer with neither text nor a call is an error to agents. */
const SILENT = 'Done.';
const PIECE_CHARACTERS = 12;
const MAX_PIECES = 200;

export function makeReply({
  conversation,
  step,
  call,
  inputTokens,
  now,
  newId,
}: {
  conversation: Conversation;
  step: Step;
  call: ToolCall | null;
  inputTokens: number;
  now: () => Date;
  newId: () => string;
}): Reply {
  const thinking = conversation.wantsThinking ? (step.think ?? null) : null;
  const text = step.text || (call === null && !step.drop ? SILENT : '');
  const pieces = step.slow === undefined ? cut(text) : words(step.text ?? 'word ', step.slow);
  const reasoningTokens = countTextTokens(thinking ?? '');
  const said = countTextTokens(pieces.join('') + (call === null ? '' : JSON.stringify(call)));
  return {
    model: conversation.model,
    id: (prefix) => `${prefix}_${newId().replaceAll('-', '')}`,
    createdAt: now(),
    thinking,
    pieces,
    delayMs: step.delay ?? 0,
    call,
    isDropped: step.drop ?? false,
    usage: step.usage ?? {
      inputTokens,
      outputTokens: Math.max(1, reasoningTokens + said),
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens,
    },
  };
}

function words(word: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${word}${at} `);
}

/** By whole characters: half of one cannot be sent. */
function cut(text: string): string[] {
  const characters = Math.min(60_000, Math.max(PIECE_CHARACTERS, Math.ceil(text.length / MAX_PIECES)));
  return text.match(new RegExp(`[^]{1,${characters}}`, 'gu')) ?? [];
}
