import { expect, test } from 'vitest';
import { cursorOutput, isCursorError } from './cursor-tool.ts';

const shell = (exitCode: number) => ({
  status: 'success',
  value: { exitCode, signal: '', stdout: 'out\n', stderr: 'err\n', executionTime: 1 },
});

test.each([
  [shell(0), 'out\nerr\n', false],
  [shell(2), 'out\nerr\n', true],
  [{ status: 'success', value: { path: 'a.txt' } }, '{"path":"a.txt"}', false],
  [{ status: 'error', error: 'There is no such file.' }, 'There is no such file.', true],
  [{ status: 'error', error: { code: 5 } }, '{"code":5}', true],
  ['plain text', 'plain text', false],
  [undefined, '', false],
  [null, '', false],
])('%j says %j', (result, output, isError) => {
  expect(cursorOutput(result)).toBe(output);
  expect(isCursorError({ status: 'completed', result })).toBe(isError);
});

test('a call that Cursor calls an error is one', () => {
  expect(isCursorError({ status: 'error' })).toBe(true);
});
