import { describe, expect, test } from 'vitest';
import { parseMirrorRefs } from './mirror-refs.ts';

const a = 'a'.repeat(40);
const b = 'b'.repeat(40);
const lines = (...rows: string[]) => `${rows.join('\n')}\n`;

describe('parseMirrorRefs', () => {
  test('branches and tags are kept by their full names, and what a tag stands for is not a ref', () => {
    const { refs, head } = parseMirrorRefs(
      lines(
        'ref: refs/heads/main\tHEAD',
        `${a}\tHEAD`,
        `${a}\trefs/heads/main`,
        `${b}\trefs/tags/v1`,
        `${a}\trefs/tags/v1^{}`,
      ),
    );
    expect([...refs]).toEqual([
      ['refs/heads/main', a],
      ['refs/tags/v1', b],
    ]);
    expect(head).toBe('ref: refs/heads/main');
  });

  test.each([
    ['nothing', '', null],
    ['a head on no branch', lines(`${a}\tHEAD`, `${b}\trefs/heads/main`), a],
    ['a head on a branch that is not there', lines('ref: refs/heads/gone\tHEAD', `${a}\tHEAD`), a],
    ['a head outside of the branches', lines('ref: refs/tags/v1\tHEAD', `${a}\trefs/heads/main`), null],
    ['lines that are none', 'error: <html>\nzz\trefs/heads/x\n\t\n', null],
  ])('%s', (_, text, head) => {
    expect(parseMirrorRefs(text).head).toBe(head);
  });

  test('refs outside of branches and tags are not mirrored', () => {
    expect(parseMirrorRefs(lines(`${a}\trefs/pull/1/head`, `${a}\trefs/replica/x`)).refs.size).toBe(0);
  });
});
