import type { AnswerBody, Call, Operation } from '../contract/operation.ts';
import { type Operations, operations } from '../contract/operations.ts';
import { type CallOptions, type ClientOptions, type LooseCall, request } from './request.ts';
import { openStream, type StreamEvent, type StreamOptions } from './stream.ts';

export { ApiError, toApiError } from './api-error.ts';
export { verifyWebhook, type WebhookEvent, WebhookVerificationError } from './verify-webhook.ts';

/** Leaves out of a call what the operation does not take, and lets be left out what may be empty. */
type Given<C> = { [K in keyof C as Need<C, K> extends 'required' ? K : never]: C[K] } & {
  [K in keyof C as Need<C, K> extends 'optional' ? K : never]?: C[K];
};
type Need<C, K extends keyof C> = C[K] extends undefined
  ? 'none'
  : K extends 'query' | 'headers'
    ? Record<never, never> extends C[K]
      ? 'optional'
      : 'required'
    : 'required';

type Table = Record<string, Operation>;
type StreamNames<T extends Table> = {
  [K in keyof T]: T[K]['content'] extends 'text/event-stream' ? K : never;
}[keyof T];

/** Operations as methods: one for each of a table, typed by its schemas. */
export type ClientOf<T extends Table> = {
  [K in Exclude<keyof T, StreamNames<T>>]: (
    call: Given<Call<T[K]>>,
    options?: CallOptions,
  ) => Promise<AnswerBody<T[K]>>;
} & {
  /** The events of an operation that streams, in order and each once; a dropped connection is resumed. */
  stream<K extends StreamNames<T>>(
    name: K,
    call: Given<Call<T[K]>>,
    options?: StreamOptions,
  ): AsyncGenerator<StreamEvent<AnswerBody<T[K]>>>;
};

/** The API of the service. */
export type Client = ClientOf<Operations>;

export function createClient(options: ClientOptions): Client {
  return createClientOf(operations, options);
}

export function createClientOf<T extends Table>(table: T, options: ClientOptions): ClientOf<T> {
  const methods = Object.entries(table).map(([name, operation]) => [
    name,
    (call: LooseCall, callOptions?: CallOptions) => send(options, operation, { ...call, ...callOptions }),
  ]);
  const stream = (name: string, call: LooseCall, streamOptions?: StreamOptions) => {
    const operation = table[name];
    if (!operation) throw new TypeError(`there is no operation ${name}`);
    return openStream(options, operation, { ...call, ...streamOptions });
  };
  return { ...Object.fromEntries(methods), stream } as ClientOf<T>;
}

/** Sends one operation; for callers that know it only by name, such as the command line. */
export async function send(options: ClientOptions, operation: Operation, call: LooseCall): Promise<unknown> {
  const answer = await request(options, operation, call);
  return operation.content ? answer.text() : answer.json().catch(() => null);
}
