import { type Dispatcher, request } from 'undici';
import { PrivateTargetError, UnresolvedTargetError } from '../lib/address-guard.ts';
import { parseTargetUrl } from '../lib/target-url.ts';
import type { AttemptEnd } from './delivery.ts';

type Parts = {
  /** Connects to nothing that users may not reach, and follows no redirect. */
  dispatcher: Dispatcher;
  allowPrivateTargets: boolean;
  limitMs: number;
};
type Sent = { url: string; headers: Record<string, string>; body: Buffer };
export type Send = (sent: Sent, signal: AbortSignal) => Promise<AttemptEnd>;

/** What a receiver says is of no interest, but a connection whose answer was read to its end can be used again. */
const READ_BYTES = 4_096;

/** Makes one attempt, and says how it ended. Throws only when the signal is aborted. */
export function createSend({ dispatcher, allowPrivateTargets, limitMs }: Parts): Send {
  return async function send({ url, headers, body }, signal) {
    // What the operator allows may have changed since the address was given.
    const { refusal } = parseTargetUrl(url, { field: 'webhook_url', allowPrivateTargets });
    if (refusal !== null) return { status: null, error: refusal, isFinal: true };
    const limit = AbortSignal.timeout(limitMs);
    try {
      const ending = AbortSignal.any([signal, limit]);
      const answer = await request(url, { method: 'POST', headers, body, dispatcher, signal: ending });
      // The status is the answer, whatever becomes of the rest.
      await answer.body.dump({ limit: READ_BYTES, signal: ending }).catch(() => {});
      return { status: answer.statusCode, retryAfter: first(answer.headers['retry-after']) };
    } catch (error) {
      signal.throwIfAborted();
      const isFinal = error instanceof PrivateTargetError;
      return { status: null, error: limit.aborted ? tooSlow(limitMs) : reasonOf(error), isFinal };
    }
  };
}

function tooSlow(limitMs: number): string {
  return `The receiver did not answer within ${limitMs / 1_000} seconds.`;
}

/** Messages of other errors may quote what was sent, so that only their code is told. */
function reasonOf(error: unknown): string {
  if (error instanceof PrivateTargetError || error instanceof UnresolvedTargetError) return error.message;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? `The connection failed: ${code}.` : 'The connection failed.';
}

function first(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header)?.trim() ?? null;
}
