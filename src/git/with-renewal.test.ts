import { describe, expect, test } from 'vitest';
import { GitError, type GitErrorKind } from './failure.ts';
import type { GitRemote } from './remote.ts';
import { withRenewal } from './with-renewal.ts';

const url = 'https://git.example.com/team/app';
const fresh = { username: 'u', secret: 'new' };

/** A host that knows the secrets in `known` only, and what was tried with it. */
async function visit(remote: GitRemote, known: string[], kind: GitErrorKind = 'unauthorized') {
  const tried: (string | undefined)[] = [];
  const outcome = await withRenewal(remote, async ({ credential }) => {
    tried.push(credential?.secret);
    if (!known.includes(credential?.secret ?? '')) throw new GitError(kind, 'No.');
    return 'done';
  }).catch(String);
  return { outcome, tried };
}

const remote = (renew?: () => Promise<typeof fresh | null>): GitRemote => ({
  url,
  credential: { username: 'u', secret: 'old', ...(renew && { renew }) },
});

describe('a credential that the host refuses', () => {
  test.each([
    ['is left alone while it works', remote(async () => fresh), ['old'], 'done', ['old']],
    ['is renewed once', remote(async () => fresh), ['new'], 'done', ['old', 'new']],
    ['is not renewed a second time', remote(async () => fresh), [], 'GitError: No.', ['old', 'new']],
    ['is refused when there is no other', remote(async () => null), ['new'], 'GitError: No.', ['old']],
    ['is refused when it is no such', remote(), ['new'], 'GitError: No.', ['old']],
    ['may be none at all', { url }, ['new'], 'GitError: No.', [undefined]],
  ])('%s', async (_name, given, known, outcome, tried) => {
    expect(await visit(given, known)).toEqual({ outcome, tried });
  });

  test('is not to blame for anything else', async () => {
    const { outcome, tried } = await visit(
      remote(async () => fresh),
      ['new'],
      'unreachable',
    );
    expect([outcome, tried]).toEqual(['GitError: No.', ['old']]);
  });
});
