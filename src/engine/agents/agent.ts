import type { EngineContext } from '../context.ts';
import type { AgentName, McpServer, SlashCommand, TurnFailureKind, TurnRequest } from '../protocol.ts';

export type JsonObject = Record<string, unknown>;

/** One message that an agent works on. */
export type AgentTurn = {
  request: TurnRequest;
  /**
   * Aborted when the turn is interrupted or has taken too long; the agent then ends what it has started in this turn,
   * and returns or throws. Whoever does not within seconds is killed.
   */
  signal: AbortSignal;
  /** A whole message for the history, in the agent's own form. Messages keep their order. */
  message(type: string, payload: JsonObject): Promise<void>;
  /** A piece of a message that is being written, for those who watch. */
  delta(event: JsonObject): Promise<void>;
  /** Something happens that is neither, as when a command writes: the agent is not silent. */
  heard(): void;
};

/** What a conversation is opened with. */
export type SessionSpec = {
  chatId: string;
  /** The first message that it will be given; what else comes later has to fit, see `AgentSession.fits`. */
  request: TurnRequest;
  /** The agent's own name of the conversation to go on with; null for a new one. */
  resume: string | null;
  /** The work folder: the only repository's, or the one above all of them. */
  folder: string;
  /** The environment of the agent's process; whatever it starts inherits it, and is found by it. */
  environment: Record<string, string>;
  /** Where the agent's model API is; what comes after it is the provider's own path, as `/v1/messages`. */
  modelUrl: string;
  /** What the agent sends to the model API as its key: the engine's own secret, which is worth nothing elsewhere. */
  modelKey: string;
  /** The folder with the agent's programs. */
  programs: string;
  systemPrompt: string | null;
  mcpServers: Record<string, McpServer>;
  context: EngineContext;
};

/** A conversation that an agent holds open, most often a process that waits for the next message. */
export type AgentSession = {
  /** The agent's own name of the conversation, with which it is resumed. */
  id: string;
  /** Whether a message can be worked on as it is; if not, the conversation is closed and opened anew with it. */
  fits(request: TurnRequest): boolean;
  /** Works until the message is dealt with. An `AgentFailure` is a failed turn with a sentence for the user. */
  work(turn: AgentTurn): Promise<void>;
  /** What can be written after a slash, as far as the agent says. */
  commands: readonly SlashCommand[];
  /** The agent's process, which interruptions spare; null when there is none. */
  pid: number | null;
  /** Resolves when the process has ended, by whatever cause. */
  ended: Promise<void>;
  /** Ends the process; the conversation can be resumed. */
  close(): Promise<void>;
};

/** What runs turns. A new agent is a file with one of these and a line in `agents.ts`. */
export type Agent = {
  name: AgentName;
  /** Throws `ConversationLost` when there is nothing to resume, `AgentFailure` for other trouble. */
  open(spec: SessionSpec, signal: AbortSignal): Promise<AgentSession>;
  /** Removes what it keeps of a chat in files of the chat's own; most have none. */
  forget?(home: string, chatId: string): void;
};

/** Why a turn has failed: a kind for programs and a sentence for the user. */
export class AgentFailure extends Error {
  override name = 'AgentFailure';
  readonly kind: TurnFailureKind;

  constructor(message: string, options: { kind?: TurnFailureKind; cause?: unknown } = {}) {
    super(message, options);
    this.kind = options.kind ?? 'agent_failed';
  }
}

/** The failure of a turn whose agent has ended too early. */
export function agentDied(cause?: unknown): AgentFailure {
  return new AgentFailure("The agent's process ended in the middle of its work.", {
    kind: 'agent_died',
    cause,
  });
}

/** The agent does not know the conversation any more, as after the loss of the disk. */
export class ConversationLost extends Error {
  override name = 'ConversationLost';
}
