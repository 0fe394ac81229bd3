import type { AgentTurn, JsonObject } from '../agent.ts';
import { gatherText } from '../gather-text.ts';
import { objectAt, objectsAt, textAt } from '../json-fields.ts';
import { cursorOutput, isCursorError } from './cursor-tool.ts';

export type CursorTurn = {
  /** Takes a message of the SDK. */
  hear(message: JsonObject): Promise<void>;
  /** Passes on what was put together so far; to be called when nothing more comes. */
  settle(): Promise<void>;
  /** The same when all went well: the plan is there now. */
  finish(): Promise<void>;
};

/**
 * Makes history and live pieces of what Cursor says about one message. Cursor's messages are pieces themselves, of what it
 * says and of what it wants a tool to do; the history gets them put together.
 */
export function followCursor(turn: Pick<AgentTurn, 'message' | 'delta' | 'request'>): CursorTurn {
  const live = gatherText(turn);
  const shownCalls = new Set<unknown>();
  let saying: { message: JsonObject; text: string } | null = null;
  let calling: JsonObject | null = null;
  let timer: NodeJS.Timeout | undefined;
  let lastText = '';
  let isPlanShown = false;

  async function say(message: JsonObject, piece: string): Promise<void> {
    if (saying?.message.type !== message.type) await settle();
    saying = { message: { ...saying?.message, ...message }, text: (saying?.text ?? '') + piece };
    await live.add(message.type === 'thinking' ? 'thinking' : 'text', piece);
    if (message.thinking_duration_ms !== undefined) await settle();
  }

  async function call(message: JsonObject): Promise<void> {
    if (message.call_id !== calling?.call_id) await settle();
    if (message.status === 'running') {
      if (shownCalls.has(message.call_id)) return;
      calling = message;
      clearTimeout(timer);
      // What cannot be reported here cannot be reported by what follows either, and that is waited for.
      timer = setTimeout(() => void settle().catch(() => {}), CALL_MS);
      return;
    }
    if (!shownCalls.has(message.call_id)) calling = { ...message, status: 'running', result: undefined };
    await settle();
    await turn.message('cursor-tool_call', message);
    const { call_id: id, result } = message;
    await turn.delta({
      type: 'tool_result',
      id,
      output: cursorOutput(result),
      isError: isCursorError(message),
    });
  }

  async function settle(): Promise<void> {
    clearTimeout(timer);
    const [said, called] = [saying, calling];
    saying = null;
    calling = null;
    await live.flush();
    if (said !== null && said.text !== '') await keepText(said.message, said.text);
    if (called !== null) await showCall(called);
  }

  async function keepText(message: JsonObject, text: string): Promise<void> {
    if (message.type === 'thinking') return turn.message('cursor-thinking', { ...message, text });
    lastText = text;
    const content = [{ type: 'text', text }];
    await turn.message('cursor-assistant', { ...message, message: { role: 'assistant', content } });
  }

  async function showCall(message: JsonObject): Promise<void> {
    const { call_id: id, name, args } = message;
    shownCalls.add(id);
    await turn.message('cursor-tool_call', message);
    await turn.delta({ type: 'tool', id, name, input: objectAt({ args }, 'args') });
    if (name === 'createPlan') await showPlan(textAt(objectAt({ args }, 'args'), 'plan'));
  }

  async function showPlan(text: string): Promise<void> {
    if (text === '') return;
    isPlanShown = true;
    await turn.delta({ type: 'plan', text });
  }

  return {
    async hear(message) {
      const type = textAt(message, 'type');
      if (type === 'assistant') return say(message, textOf(message));
      if (type === 'thinking') return say(message, textAt(message, 'text'));
      if (type === 'tool_call') return call(message);
      if (!keptTypes.has(type)) return;
      await settle();
      await turn.message(`cursor-${type}`, message);
    },
    settle,
    async finish() {
      await settle();
      if (turn.request.planMode && !isPlanShown) await showPlan(lastText);
    },
  };
}

/** What Cursor wants a tool to do comes piece by piece; after this time it is taken for whole. */
const CALL_MS = 50;
/** The rest is about the user's own message, or about the connection. */
const keptTypes = new Set(['task', 'status']);

function textOf(message: JsonObject): string {
  return objectsAt(objectAt(message, 'message'), 'content')
    .map((block) => (block.type === 'text' ? textAt(block, 'text') : ''))
    .join('');
}
