import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Dispatcher, errors, request } from 'undici';
import { AppError } from '../contract/error.ts';
import { GitError } from '../git/failure.ts';
import type { CheckedRemote } from '../git/remote.ts';
import { guardedDispatcher } from '../lib/address-guard.ts';
import type { PushTarget } from './push-target.ts';

type Call = {
  url: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body: Readable | null;
  signal: AbortSignal;
};

type Body = Dispatcher.ResponseData['body'];

const advertisement = 'application/x-git-receive-pack-advertisement';
const result = 'application/x-git-receive-pack-result';
/** A host may run its own hooks for minutes before it says a word. */
const silenceMs = 10 * 60_000;
const maxRemembered = 1_000;
const usualAgent = 'git/2.39.0';

/** Hands requests on to a git host, which gets nothing of the client but its push. */
export function createHttpPushTarget() {
  // Where a host has told that a repository is found by its address with `.git`.
  const suffixed = new Set<string>();

  function remember(url: string): void {
    suffixed.add(url);
    const [oldest] = suffixed;
    if (suffixed.size > maxRemembered && oldest !== undefined) suffixed.delete(oldest);
  }

  return function toHttpTarget(remote: CheckedRemote): PushTarget {
    const urlNow = () => (suffixed.has(remote.url) ? `${remote.url}.git` : remote.url);

    async function list(use: (body: Body) => Promise<void>, signal: AbortSignal): Promise<void> {
      const url = `${urlNow()}/info/refs?service=git-receive-pack`;
      const headers = { accept: '*/*', 'user-agent': usualAgent };
      try {
        await call(remote, { url, method: 'GET', headers, body: null, signal }, (answer) => {
          if (!String(answer.headers['content-type']).startsWith(advertisement)) {
            throw new GitError('not_found', 'The server at this URL does not answer like a git host.');
          }
          return use(answer.body);
        });
      } catch (error) {
        const isRedirect = error instanceof GitError && error.cause === redirect;
        if (!isRedirect || suffixed.has(remote.url) || remote.url.endsWith('.git')) throw error;
        remember(remote.url);
        await list(use, signal);
      }
    }

    return {
      advertise: ({ output, signal }) => list((body) => pipeline(body, output, { end: false }), signal),

      async receive({ input, inputBytes, output, signal, userAgent }) {
        // A body cannot be sent twice, so the right address has to be known before.
        if (!remote.url.endsWith('.git') && !suffixed.has(remote.url)) {
          await list((body) => body.dump(), signal);
        }
        const headers = {
          accept: result,
          'content-type': 'application/x-git-receive-pack-request',
          'user-agent': /^git\/[\w. ()-]{1,80}$/.test(userAgent ?? '') ? String(userAgent) : usualAgent,
          ...(inputBytes !== null && { 'content-length': String(inputBytes) }),
        };
        const body = Readable.from(input, { objectMode: false });
        const url = `${urlNow()}/git-receive-pack`;
        await call(remote, { url, method: 'POST', headers, body, signal }, (answer) =>
          pipeline(answer.body, output, { end: false }),
        );
      },
    };
  };
}

async function call(
  remote: CheckedRemote,
  { headers, ...options }: Call,
  use: (answer: Dispatcher.ResponseData) => Promise<void>,
): Promise<void> {
  // The addresses are the checked ones, so the guard only has to hold on to them.
  const dispatcher = guardedDispatcher({ allowPrivateTargets: true, lookup: async () => remote.addresses });
  const { authorization } = remote;
  try {
    const answer = await request(options.url, {
      ...options,
      dispatcher,
      headers: { ...headers, ...(authorization !== null && { authorization }) },
      headersTimeout: silenceMs,
      bodyTimeout: silenceMs,
    });
    // Destroying the dispatcher below ends a body that nobody has read with an error.
    answer.body.on('error', () => {});
    refuseStatus(answer.statusCode);
    await use(answer);
  } catch (error) {
    options.signal.throwIfAborted();
    throw error instanceof GitError || error instanceof AppError ? error : unreachable(error);
  } finally {
    await dispatcher.destroy();
  }
}

const redirect = new Error('the git host answered with a redirect');

/** The body of such an answer is not passed on: nobody knows what it repeats of the request. */
function refuseStatus(status: number): void {
  if (status === 200) return;
  if (status === 401 || status === 403 || status === 407) {
    throw new GitError(
      'unauthorized',
      'The git host refused the push: the credential is missing or wrong, or may not write to the repository.',
    );
  }
  if (status === 404) throw new GitError('not_found', 'The git host knows no repository at this URL.');
  if (status === 413) throw new GitError('too_large', 'The push is too large for the git host.');
  if (status >= 300 && status < 400) {
    throw new GitError(
      'refused',
      'The git host redirects to another address; use the address it redirects to.',
      { cause: redirect },
    );
  }
  throw new GitError('unreachable', `The git host answered with the HTTP status ${status}.`);
}

function unreachable(cause: unknown): GitError {
  const isLate = cause instanceof errors.HeadersTimeoutError || cause instanceof errors.BodyTimeoutError;
  return isLate || cause instanceof errors.ConnectTimeoutError
    ? new GitError('timeout', 'The git host did not answer in time.', { cause })
    : new GitError('unreachable', 'The git host cannot be reached.', { cause });
}
