import type { Conversation } from './conversation.ts';
import type { Reply } from './reply.ts';

export type Refusal = { type: string; code?: string | undefined; message: string };

/** One model API: how its requests are read and its answers are written. */
export type Provider = {
  /** Throws a `RequestError` for a body of another shape. */
  read(body: unknown): Conversation;
  refusal(refusal: Refusal): object;
  /** The answer as one object. */
  whole(reply: Reply): object;
  /** The answer in the frames of a stream. Ends by an error when the reply is dropped or the signal aborts. */
  frames(reply: Reply, signal: AbortSignal): AsyncGenerator<string>;
};
