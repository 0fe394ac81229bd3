import type { Readable } from 'node:stream';
import type { Caller } from '../account/caller.ts';
import type { Answer, Input, Operation } from '../contract/operation.ts';
import type { Db } from '../db/database.ts';
import type { SseFrame } from './sse.ts';

type CallerOf<O extends Operation> = O['access'] extends 'anyone'
  ? null
  : O['access'] extends 'person' | 'admin_person'
    ? Caller & { personId: string }
    : Caller;

/** A request as its handler sees it: parsed, authenticated, and inside its transaction when it writes. */
export type HandlerRequest<O extends Operation> = Input<O> & {
  caller: CallerOf<O>;
  /** The transaction of the request; for GET, the pool. */
  db: Db;
  /** Aborted when the caller is gone. */
  signal: AbortSignal;
} & (O['isRaw'] extends true ? { rawBody: Buffer } : unknown);

/**
 * An answer, and optionally more of it that is only known after the commit: `settle` waits for work that
 * the transaction put in motion and returns the body to send in place of the first one. What it refuses with is the
 * answer for good, since the change stands: a repeat with the same Idempotency-Key is refused in the same way.
 */
export type HandlerAnswer<O extends Operation> = O['content'] extends 'text/event-stream'
  ? { status: 200; stream: FrameStream<Answer<O>['body']> }
  : O['content'] extends 'text/plain'
    ? { status: Answer<O>['status']; body: Text<O['method']> }
    : Answer<O> & { settle?: (db: Db, signal: AbortSignal) => Promise<Answer<O>['body']> };

/**
 * Gives the frames of a stream, after the commit of the transaction. It gets the pool, and may hold a connection only
 * while it reads. The signal is aborted when the caller is gone, reads too slowly, or the service stops.
 */
export type FrameStream<Data = unknown> = (db: Db, signal: AbortSignal) => AsyncIterable<SseFrame<Data>>;

/** The answer to a write is kept for repeats, so it is there as a whole. */
type Text<M> = M extends 'GET' ? string | Readable : string;

export type Handler<O extends Operation> = (request: HandlerRequest<O>) => Promise<HandlerAnswer<O>>;

/** One handler for each operation of a table; leaving one out does not compile. */
export type Handlers<T extends Record<string, Operation>> = { [K in keyof T]: Handler<T[K]> };

/** A handler as the road sees it, which carries any of them: the types above hold between a handler and its operation. */
export type LooseHandler = (request: LooseRequest) => Promise<LooseAnswer>;
type LooseRequest = {
  params: unknown;
  query: unknown;
  headers: unknown;
  body: unknown;
  rawBody?: Buffer;
  caller: Caller | null;
  db: Db;
  signal: AbortSignal;
};
export type LooseAnswer = {
  status: number;
  body?: unknown;
  settle?: (db: Db, signal: AbortSignal) => Promise<unknown>;
  stream?: FrameStream;
};
