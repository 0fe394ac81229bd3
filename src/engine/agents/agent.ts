import type { EngineContext } from '../context.ts';
import type { TurnRequest } from '../protocol.ts';

export type JsonObject = Record<string, unknown>;

/** One message that an agent works on. */
export type AgentTurn = {
  request: TurnRequest;
  /** Aborted when the turn is interrupted; the agent then ends everything it has started, and returns or throws. */
  signal: AbortSignal;
  /** A whole message for the history, in the agent's own form. Messages keep their order. */
  message(type: string, payload: JsonObject): Promise<void>;
  /** A piece of a message that is being written, for those who watch. */
  delta(event: JsonObject): Promise<void>;
  context: EngineContext;
};

/** What runs turns. A new agent is a file with one of these and a line in `agents.ts`. */
export type Agent = {
  name: TurnRequest['agent'];
  /** Works until the message is dealt with. An `AgentFailure` is a failed turn with a sentence for the user. */
  run(turn: AgentTurn): Promise<void>;
};

export class AgentFailure extends Error {
  override name = 'AgentFailure';
}
