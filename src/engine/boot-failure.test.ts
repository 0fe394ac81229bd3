import { expect, test } from 'vitest';
import { explainFailure } from './boot-failure.ts';

const systemError = (code: string) => Object.assign(new Error(`${code}: odd words, write '/x'`), { code });

test.each<[unknown, RegExp]>([
  [systemError('ENOSPC'), /^The disk of the workspace is full\. Choose a larger size/],
  [systemError('EDQUOT'), /^The disk of the workspace is full/],
  [systemError('EAGAIN'), /as many processes as it may have/],
  [systemError('EOTHER'), /the system answers EOTHER/],
  [new Error('The repository app has no branch x.'), /^The repository app has no branch x\.$/],
  [new DOMException('The operation was aborted due to timeout', 'TimeoutError'), /took too long/],
  [new Error(''), /not known/],
])('%s is explained', (error, sentence) => {
  expect(explainFailure(error)).toMatch(sentence);
});
