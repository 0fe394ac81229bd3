import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../account/caller.ts';
import { AppError } from '../contract/error.ts';
import { type Operation, takesIdempotencyKey } from '../contract/operation.ts';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { Sealer } from '../secret/seal.ts';
import type { LooseAnswer, LooseHandler } from './handler.ts';
import {
  type Claim,
  claimKey,
  parseIdempotencyKey,
  type StoredAnswer,
  settledAnswer,
  storeAnswer,
  storeRefusal,
} from './idempotency.ts';
import { parseInput } from './parse-input.ts';
import { sendAnswer } from './send-answer.ts';
import type { Streams } from './streams.ts';

export type RouteParts = {
  db: Db;
  sealer: Sealer;
  bodyLimitBytes: number;
  /** Sets `request.caller`, or refuses the request. */
  admit: (operation: Operation, request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  /** Sees every answer before it is sent, and the data of every event; tests hold them against the contract. */
  inspectAnswer?: (operation: Operation, answer: StoredAnswer) => void;
};

/**
 * The one way a request travels: admit (who is it, how often) → parse → transaction of handler and
 * idempotency record → commit → answer, or the stream that begins with it.
 */
export function registerRoute(
  app: FastifyInstance,
  parts: RouteParts & { streams: Streams },
  route: { name: string; operation: Operation; handler: LooseHandler },
): void {
  const { operation, handler } = route;
  app.route({
    method: operation.method,
    url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    bodyLimit: operation.bodyLimit ?? parts.bodyLimitBytes,
    config: { operation: route.name },
    onRequest: (request, reply) => parts.admit(operation, request, reply),
    handler: async (request, reply) => {
      const answer = await perform(parts, { operation, handler, request, reply });
      return sendAnswer(parts, { operation, answer, reply });
    },
  });
}

type Performance = {
  operation: Operation;
  handler: LooseHandler;
  request: FastifyRequest;
  reply: FastifyReply;
};

async function perform(parts: RouteParts, performance: Performance): Promise<LooseAnswer> {
  const { operation, handler, request, reply } = performance;
  const input = parseInput(operation, request);
  const caller = request.caller;
  // Most handlers never wait for anything but the database, so the signal is made when it is asked for.
  let signal: AbortSignal | null = null;
  const getSignal = () => {
    signal ??= abortedWhenGone(reply);
    return signal;
  };
  const run = (db: Db) =>
    handler({
      ...input,
      ...(operation.isRaw && { rawBody: request.rawBody ?? Buffer.alloc(0) }),
      caller,
      db,
      get signal() {
        return getSignal();
      },
    });
  if (operation.method === 'GET') {
    const { settle, ...answer } = await run(parts.db);
    return settle ? { ...answer, body: await settle(parts.db, getSignal()) } : answer;
  }
  const key = caller ? keyOf(operation, request) : null;
  const done = await transact(parts.db, async (tx) => {
    if (!key || !caller) return { answer: await run(tx), recordId: null };
    return runOnce(parts, { tx, caller, key, path: pathOf(operation, input), request, run });
  });
  return done.answer.settle ? settleAnswer(parts, done, getSignal()) : done.answer;
}

function keyOf(operation: Operation, request: FastifyRequest): string | null {
  if (operation.method !== 'POST') return null;
  const key = parseIdempotencyKey(request.headers['idempotency-key']);
  if (key === null || takesIdempotencyKey(operation)) return key;
  throw new AppError(
    'invalid_request',
    'A stream cannot be sent again as it was: leave out the Idempotency-Key.',
  );
}

type Outcome = { answer: LooseAnswer; recordId: string | null };

async function runOnce(
  parts: RouteParts,
  once: {
    tx: Db;
    caller: Caller;
    key: string;
    path: string;
    request: FastifyRequest;
    run: (db: Db) => Promise<LooseAnswer>;
  },
): Promise<Outcome> {
  const { tx, caller, key, path, request } = once;
  const claim = await claimKey(tx, parts.sealer, { caller, key, path, body: request.rawBody });
  if (claim.replay) return { answer: repeatOf(parts, claim), recordId: null };
  const { status, body, settle } = await once.run(tx);
  const isSettled = settle === undefined;
  await storeAnswer(tx, parts.sealer, { id: claim.id, answer: { status, body }, isSettled });
  return { answer: { status, body, settle }, recordId: claim.id };
}

/** The one spelling of the path and of what the query says: either could be sent in other ways without end. */
function pathOf({ path }: Operation, { params, query }: { params: unknown; query: unknown }): string {
  const values = (params ?? {}) as Record<string, string>;
  const named = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
  const asked = query === undefined ? '{}' : JSON.stringify(query);
  return asked === '{}' ? named : `${named}?${asked}`;
}

/** The stored answer, or what it becomes while another request with the same key is still waiting for it. */
function repeatOf({ sealer }: RouteParts, claim: Claim & { replay: StoredAnswer }): LooseAnswer {
  if (claim.isSettled) return claim.replay;
  const settle: LooseAnswer['settle'] = async (db, signal) =>
    (await settledAnswer(db, sealer, { id: claim.id, signal })).body;
  return { ...claim.replay, settle };
}

/** Waits for what is only known after the commit, and keeps for a repeat what that ends with; see idempotency.ts. */
async function settleAnswer(parts: RouteParts, outcome: Outcome, signal: AbortSignal): Promise<StoredAnswer> {
  const { db, sealer } = parts;
  const { recordId: id, answer: first } = outcome;
  const { status, body, settle } = first;
  if (!settle) return { status, body };
  try {
    const answer = { status, body: await settle(db, signal) };
    if (id) await storeAnswer(db, sealer, { id, answer, isSettled: true });
    return answer;
  } catch (error) {
    // Who is cut off is told so by an error too, which says nothing about what was asked for.
    const isRefused = error instanceof AppError && !signal.aborted;
    if (id && isRefused) await storeRefusal(db, sealer, { id, error });
    else if (id) await storeAnswer(db, sealer, { id, answer: { status, body }, isSettled: true });
    throw error;
  }
}

function abortedWhenGone(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const notice = () => {
    if (!reply.raw.writableFinished) gone.abort(new AppError('unavailable', 'The caller is gone.'));
  };
  if (reply.raw.closed) notice();
  else reply.raw.once('close', notice);
  return gone.signal;
}
