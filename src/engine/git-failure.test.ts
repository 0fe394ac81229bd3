import { expect, test } from 'vitest';
import { describeGitFailure } from './git-failure.ts';
import { GitFailure } from './git-process.ts';

const repository = { name: 'app', branch: 'work' };

test.each([
  ['fatal: Remote branch work not found in upstream origin', /has no branch work/, false],
  ['fatal: could not read Username for …: terminal prompts disabled', /credential is missing, wrong/, false],
  ['fatal: unable to access …: The requested URL returned error: 403', /credential is missing, wrong/, false],
  ["fatal: repository 'http://127.0.0.1:1/git/1/' not found", /does not know the repository app/, false],
  ['fatal: write error: No space left on device\nfatal: early EOF', /disk of the workspace is full/, false],
  ['error: index-pack died of signal 9', /too little memory/, false],
  ['fatal: unable to access …: The requested URL returned error: 502', /did not answer/, true],
  ['fatal: unable to access …: Failed to connect to 127.0.0.1 port 1', /cannot be reached/, true],
  ['fatal: unable to access …: Empty reply from server', /cannot be reached/, true],
  ['error: RPC failed; curl 18\nfatal: early EOF', /cannot be reached/, true],
  ['fatal: something new', /reason that is not known/, false],
  ['', /reason that is not known/, false],
])('%j is told to the user, and tried again only when that may help', (stderr, sentence, isRetried) => {
  const { error, retryMs } = describeGitFailure(new GitFailure(stderr), repository);
  expect(error.message).toMatch(sentence);
  expect(retryMs > 0).toBe(isRetried);
});
