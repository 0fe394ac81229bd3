import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { AppError } from '../contract/error.ts';
import { GitError, type GitErrorKind } from '../git/failure.ts';
import { answerSentence } from './answer.ts';
import type { GitRequest } from './git-request.ts';

/** Statuses that git does not take for a wish for a password. */
const statuses: Record<GitErrorKind, number> = {
  not_found: 404,
  unauthorized: 403,
  refused: 403,
  unreachable: 502,
  timeout: 504,
  too_large: 413,
  missing_branch: 404,
  empty: 404,
  failed: 500,
};

/** Says what the answer is. It is not sent before there is something to answer, so that a failure can still be told. */
export function beginAnswer(response: ServerResponse, { service, isFirst }: GitRequest): void {
  const kind = isFirst ? 'advertisement' : 'result';
  response.setHeader('content-type', `application/x-git-${service}-${kind}`);
  response.setHeader('cache-control', 'no-store');
}

/** Answers with a sentence that git shows; what is ours to know goes to the log. */
export function answerGitFailure(response: ServerResponse, error: unknown, log: Logger): void {
  if (error instanceof AppError) answerSentence(response, error.status, error.message);
  else if (error instanceof GitError) {
    log.warn({ kind: error.kind, err: error.cause ?? error }, 'gateway.git_refused');
    answerSentence(response, statuses[error.kind], error.message);
  } else {
    log.error({ err: error }, 'gateway.git_failed');
    answerSentence(response, 500, 'Something went wrong on our side; try again.');
  }
}
