import type { Writable } from 'node:stream';

/** A remote that can be pushed to. What it writes is the body of an answer, which is left open. */
export type PushTarget = {
  /** Writes what the remote holds. */
  advertise(talk: { output: Writable; signal: AbortSignal }): Promise<void>;
  /** Hands a push over and writes what the remote says to it. */
  receive(talk: PushTalk): Promise<void>;
};

export type PushTalk = {
  input: AsyncIterable<Buffer>;
  /** Null when the client does not say how long the push is. */
  inputBytes: number | null;
  output: Writable;
  signal: AbortSignal;
  /** What the client calls itself; some hosts ask for it. */
  userAgent: string | undefined;
};
