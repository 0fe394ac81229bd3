import { GitError } from '../git/failure.ts';
import type { Mirrors } from '../git/mirror.ts';
import type { Serve } from '../git/serve.ts';
import { withoutIdleLimit } from './answer.ts';
import { beginAnswer } from './git-answer.ts';
import type { GitTalk } from './git-talk.ts';
import { streamBody } from './stream-body.ts';

/** Answers what a client fetches, from the mirror of the repository. */
export function createGitFetch({
  mirrors,
  serve,
  maxBytes,
}: {
  mirrors: Mirrors;
  serve: Serve;
  maxBytes: number;
}) {
  return async function answerFetch({
    request,
    response,
    asked,
    repository,
    signal,
  }: GitTalk): Promise<void> {
    // The first request decides how new the mirror is; those that follow are about what it listed.
    const age = asked.isFirst ? {} : { maxAgeMs: Number.POSITIVE_INFINITY };
    const { folder } = await withoutIdleLimit(request, () =>
      mirrors.ensure({ ...repository, ...age, signal }),
    );
    const header = request.headers['git-protocol'];
    const protocol = typeof header === 'string' ? header : null;
    beginAnswer(response, asked);
    const input = asked.isFirst ? null : streamBody(request, { maxBytes });
    try {
      await serve({ service: 'upload-pack', folder, input, output: response, protocol, signal });
    } catch (error) {
      if (error instanceof GitError && error.kind === 'failed') await mirrors.markBroken(repository);
      throw error;
    }
    response.end();
  };
}
