import type { AgentTurn, JsonObject } from '../agent.ts';
import { gatherText } from '../gather-text.ts';
import { numberAt, objectAt, textAt } from '../json-fields.ts';

export type OpencodeRetry = { attempt: number; words: string; nextMs: number };

export type OpencodeFollower = {
  /** Takes what opencode says while it works on the message. */
  hear(event: JsonObject): Promise<void>;
  /** Resolves when opencode says that there is nothing more to come. */
  idle: Promise<void>;
  /** What went wrong last, if it has said so. */
  lastError(): JsonObject | null;
  showPlan(text: string): Promise<void>;
  /** Puts the last message into the history: the one given, or else the last that was heard of. */
  finish(message: JsonObject | null): Promise<void>;
};

/** Makes history and live pieces of what opencode says about one message. */
export function followOpencode(
  turn: Pick<AgentTurn, 'message' | 'delta' | 'heard'>,
  conversation: {
    id: string;
    /** The whole of a message, or null when it cannot be had. */
    read(messageId: string): Promise<JsonObject | null>;
    onRetry(retry: OpencodeRetry): void;
    /** Somebody has to say yes or no, and nobody is there. */
    onAsked(kind: 'permission' | 'question', requestId: string): Promise<void>;
  },
): OpencodeFollower {
  const { delta } = turn;
  const text = gatherText(turn);
  const { promise: idle, resolve: rest } = Promise.withResolvers<void>();
  /** The conversation and those of its helpers. */
  const ours = new Set([conversation.id]);
  const kinds = new Map<string, 'text' | 'thinking'>();
  const summaries = new Set<string>();
  const tools = new Map<string, 'begun' | 'done'>();
  let current: string | null = null;
  let error: JsonObject | null = null;

  const hearers: Record<string, (said: JsonObject) => Promise<void> | void> = {
    'session.created': hearSession,
    'session.updated': hearSession,
    'message.updated': hearMessage,
    'message.part.updated': (said) => hearPart(objectAt(said, 'part')),
    'message.part.delta': hearPiece,
    'session.status': (said) => hearStatus(objectAt(said, 'status')),
    'session.error': hearError,
    'session.idle': (said) => void (isMain(said) && rest()),
    'permission.asked': (said) => conversation.onAsked('permission', textAt(said, 'id')),
    'question.asked': (said) => conversation.onAsked('question', textAt(said, 'id')),
  };

  function isMain(said: JsonObject): boolean {
    return textAt(said, 'sessionID') === conversation.id;
  }

  function hearError(said: JsonObject): void {
    error = objectAt(said, 'error');
  }

  function hearSession(said: JsonObject): void {
    const info = objectAt(said, 'info');
    if (ours.has(textAt(info, 'parentID'))) ours.add(textAt(info, 'id'));
  }

  /** A message is whole when the next one begins. */
  async function hearMessage(said: JsonObject): Promise<void> {
    const info = objectAt(said, 'info');
    const id = textAt(info, 'id');
    if (!isMain(said) || info.role !== 'assistant' || id === current) return;
    const before = current;
    current = id;
    if (info.summary === true) summaries.add(id);
    if (before !== null) await tell(await conversation.read(before));
  }

  async function tell(message: JsonObject | null): Promise<void> {
    await text.flush();
    if (message !== null) await turn.message('opencode-assistant', message);
  }

  async function hearPart(part: JsonObject): Promise<void> {
    if (part.type === 'text') kinds.set(textAt(part, 'id'), 'text');
    if (part.type === 'reasoning') kinds.set(textAt(part, 'id'), 'thinking');
    if (part.type === 'tool') await hearTool(part, objectAt(part, 'state'));
  }

  /** What a helper writes is for the agent, and so is what it writes down to forget the rest. */
  async function hearPiece(said: JsonObject): Promise<void> {
    const kind = kinds.get(textAt(said, 'partID'));
    if (kind === undefined || !isMain(said) || summaries.has(textAt(said, 'messageID'))) return;
    if (said.field === 'text') await text.add(kind, textAt(said, 'delta'));
  }

  async function hearTool(
    { callID, tool }: JsonObject,
    { status, input, output, error }: JsonObject,
  ): Promise<void> {
    const id = String(callID);
    const isDone = status === 'completed' || status === 'error';
    if (status === 'pending' || tools.get(id) === 'done') return;
    await text.flush();
    if (!tools.has(id)) await delta({ type: 'tool', id, name: tool, input });
    tools.set(id, isDone ? 'done' : 'begun');
    if (isDone)
      await delta({ type: 'tool_result', id, output: output ?? error ?? '', isError: status === 'error' });
  }

  async function hearStatus(status: JsonObject): Promise<void> {
    if (status.type !== 'retry') return;
    const words = textAt(status, 'message');
    conversation.onRetry({
      attempt: numberAt(status, 'attempt') ?? 1,
      words,
      nextMs: numberAt(status, 'next') ?? 0,
    });
    await text.flush();
    await delta({ type: 'retry', message: words });
  }

  return {
    async hear(event) {
      const said = objectAt(event, 'properties');
      const type = textAt(event, 'type');
      const isOurs = ours.has(textAt(said, 'sessionID'));
      if (isOurs) turn.heard();
      const mayBecomeOurs = type === 'session.created' || type === 'session.updated';
      if ((isOurs || mayBecomeOurs) && Object.hasOwn(hearers, type)) await hearers[type]?.(said);
    },
    idle,
    lastError: () => error,
    async showPlan(plan) {
      await text.flush();
      await delta({ type: 'plan', text: plan });
    },
    async finish(message) {
      await tell(message ?? (current === null ? null : await conversation.read(current)));
    },
  };
}
