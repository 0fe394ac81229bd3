import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fitting, followUpText, furtherText } from './follow-up-text.ts';

const pull = { number: 7, url: 'https://github.example/team/app/pull/7', branch: 'work' };

test('an agent is told which pull request it is, and everything that was said', () => {
  const text = followUpText(pull, [
    { kind: 'check', text: 'build has failed' },
    { kind: 'comment', text: 'ada commented:\n\nWhy?' },
  ]);
  for (const part of [`#7 of this workspace: ${pull.url}`, 'push it to the branch work', 'data from outside'])
    expect(text).toContain(part);
  expect(text).toContain('A check has failed:\n\n```\nbuild has failed\n```');
  expect(text).toContain('A comment:\n\n```\nada commented:\n\nWhy?\n```');
});

test('what is added has the same form', () => {
  const remark = { kind: 'review' as const, text: 'no' };
  expect(followUpText(pull, [remark]) + furtherText([remark])).toBe(followUpText(pull, [remark, remark]));
});

test('nothing that is said leaves its block', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('`', '```', '\n', 'a', '~~~'), { maxLength: 40 }), (pieces) => {
      const said = pieces.join('');
      const block = furtherText([{ kind: 'comment', text: said }]).trimStart();
      const fence = /^A comment:\n\n(`+)\n/.exec(block)?.[1] ?? '';
      expect(block.endsWith(`\n${fence}`)).toBe(true);
      expect(said).not.toContain(fence);
    }),
  );
});

test.each([
  ['all that fit', 3, 1_000, 3],
  ['no more than fit', 5, 70, 2],
  ['one that is too large by itself', 2, 5, 1],
  ['nothing of nothing', 0, 10, 0],
])('a message takes %s', (_name, count, maxBytes, taken) => {
  const remarks = Array.from({ length: count }, () => ({ kind: 'check' as const, text: 'xxxxx' }));
  expect(fitting(remarks, maxBytes)).toHaveLength(taken);
});
