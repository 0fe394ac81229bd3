/** One thing that was said or done in a conversation, as far as the offline model looks at it. */
export type Item =
  | { kind: 'user'; text: string }
  /** Instructions, which agents also give in the middle of a conversation. */
  | { kind: 'note'; text: string }
  | { kind: 'assistant' }
  | { kind: 'call' }
  | { kind: 'result'; text: string };

/** What all three model APIs ask for, in one form. */
export type Conversation = {
  model: string;
  items: Item[];
  /** The names of the tools the model may call. */
  tools: ReadonlySet<string>;
  isStreamed: boolean;
  /** Whether the caller wants to see thoughts. */
  wantsThinking: boolean;
};

/** The body of a request is not what its API takes. The message is for the caller. */
export class RequestError extends Error {
  override name = 'RequestError';
}
