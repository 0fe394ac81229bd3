import type { TurnRequest } from '../../protocol.ts';
import type { AgentTurn, JsonObject } from '../agent.ts';
import { gatherText } from '../gather-text.ts';
import { objectAt, objectsAt, textAt } from '../json-fields.ts';

export type ClaudeTurn = {
  /** Takes what claude says while it works on the message. */
  hear(message: JsonObject): Promise<void>;
  /** The plan was shown, and ends the turn. */
  showPlan(text: string): Promise<void>;
  /** Claude's result when it is done with the message; null when it was never begun. */
  done: Promise<JsonObject | null>;
};

/** Makes history and live pieces of what claude says about one message. */
export function followClaude(
  turn: Pick<AgentTurn, 'message' | 'delta' | 'heard'> & { request: Pick<TurnRequest, 'id'> },
): ClaudeTurn {
  const { request, message, delta } = turn;
  const { promise: done, resolve, reject } = Promise.withResolvers<JsonObject | null>();
  // Whoever does not wait for it any more must not be hit by it.
  done.catch(() => {});
  const text = gatherText(turn);
  let result: JsonObject | null = null;

  async function tell(said: JsonObject): Promise<void> {
    const { type } = said;
    if (type === 'stream_event') return hearPiece(said);
    await text.flush();
    if (type === 'assistant') {
      await message('claude-assistant', said);
      for (const use of blocks(said, 'tool_use'))
        await delta({ type: 'tool', id: use.id, name: use.name, input: use.input });
    } else if (type === 'user') {
      await message('claude-user', said);
      for (const { tool_use_id: id, content, is_error } of blocks(said, 'tool_result'))
        await delta({ type: 'tool_result', id, output: toText(content), isError: is_error === true });
    } else if (type === 'system') {
      if (said.subtype === 'api_retry') await delta({ type: 'retry', message: describeRetry(said) });
      if (keptNews.has(textAt(said, 'subtype'))) await message('claude-system', said);
    } else if (type === 'result') {
      result = said;
      await message('claude-result', said);
    } else if (type === 'command_lifecycle' && said.command_uuid === request.id) {
      if (said.state === 'completed' || said.state === 'cancelled') resolve(result);
    }
  }

  /** What a helper of claude writes is for claude, not for those who watch. */
  async function hearPiece(said: JsonObject): Promise<void> {
    if (textAt(said, 'parent_tool_use_id') !== '') return;
    const piece = objectAt(objectAt(said, 'event'), 'delta');
    if (piece.type === 'text_delta') await text.add('text', textAt(piece, 'text'));
    if (piece.type === 'thinking_delta') await text.add('thinking', textAt(piece, 'thinking'));
  }

  return {
    hear(said) {
      if (!clockNews.has(said.type)) turn.heard();
      return tell(said).catch(reject);
    },
    async showPlan(plan) {
      await text.flush();
      await delta({ type: 'plan', text: plan });
    },
    done,
  };
}

/** They say that time goes by, and would hide an agent that hangs. */
const clockNews = new Set<unknown>(['keep_alive', 'tool_progress']);
/** Of what claude says about itself, what is still of interest after the turn. */
const keptNews = new Set(['init', 'compact_boundary', 'local_command_output']);

function blocks(said: JsonObject, type: string): JsonObject[] {
  return objectsAt(objectAt(said, 'message'), 'content').filter((block) => block.type === type);
}

function toText(content: unknown): string {
  if (typeof content === 'string') return content;
  return objectsAt({ content }, 'content')
    .map((block) => (block.type === 'text' ? textAt(block, 'text') : `[${textAt(block, 'type')}]`))
    .join('\n');
}

function describeRetry({ attempt, max_retries, error_status, error }: JsonObject): string {
  const reason = error_status ?? error ?? 'no answer';
  return `The model did not answer (${String(reason)}). Attempt ${String(attempt)} of ${String(max_retries)} follows.`;
}
