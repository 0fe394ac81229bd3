import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findNestedPath, HOME_DIRECTORY, parseFilePath } from './path.ts';

describe('a path below the home directory is kept as ~/…', () => {
  test.each([
    ['~/a', '~/a'],
    ['/home/replica/a', '~/a'],
    ['~/.config/tool/settings.json', '~/.config/tool/settings.json'],
    ['/home/replica/.ssh/config', '~/.ssh/config'],
    ['~/with space/ü.txt', '~/with space/ü.txt'],
    ['~/...', '~/...'],
    ['~/..a/b..', '~/..a/b..'],
    ['~/~/a', '~/~/a'],
    ['~/home/replica/a', '~/home/replica/a'],
    ['~/.replicas/a', '~/.replicas/a'],
    ['~/a/.replica/b', '~/a/.replica/b'],
    [`~/${'é'.repeat(127)}`, `~/${'é'.repeat(127)}`],
  ])('%s', (given, path) => {
    expect(parseFilePath(given)).toEqual({ path, refusal: null });
  });
});

describe('anything else is refused with a sentence', () => {
  test.each([
    ['', /start it with ~\/ or \/home\/replica\//],
    ['a', /start it with/],
    ['./a', /start it with/],
    ['~', /start it with/],
    ['~root/a', /start it with/],
    ['/etc/passwd', /start it with/],
    ['/home/replica', /start it with/],
    ['/home/replicas/a', /start it with/],
    ['/home/other/a', /start it with/],
    ['//home/replica/a', /start it with/],
    ['/home//replica/a', /start it with/],
    ['/home/./replica/a', /start it with/],
    ['/home/x/../replica/a', /start it with/],
    ['/Home/replica/a', /start it with/],
    [' ~/a', /start it with/],
    ['file:///home/replica/a', /start it with/],
    ['~\\a', /start it with/],
    ['~/', /must not end with a slash/],
    ['~/a/', /must not end with a slash/],
    ['/home/replica/', /must not end with a slash/],
    ['~//a', /empty part/],
    ['~/a//b', /empty part/],
    ['~/..', /the part "\.\."/],
    ['~/../etc/passwd', /the part "\.\."/],
    ['~/a/../../b', /the part "\.\."/],
    ['/home/replica/../root/a', /the part "\.\."/],
    ['~/.', /the part "\."/],
    ['~/a/./b', /the part "\."/],
    ['~/a\0b', /control characters/],
    ['~/a\nb', /control characters/],
    ['~/a\u007f', /control characters/],
    ['~/a\u0085', /control characters/],
    [`~/${'a'.repeat(256)}`, /at most 255 bytes/],
    [`~/${'é'.repeat(128)}/b`, /at most 255 bytes/],
    ['~/.replica', /belongs to the service/],
    ['~/.replica/canvas/a.md', /belongs to the service/],
    ['/home/replica/.replica/engine', /belongs to the service/],
  ])('%j', (given, refusal) => {
    expect(parseFilePath(given)).toEqual({ path: null, refusal: expect.stringMatching(refusal) });
  });
});

test('a path that is kept names the same file when it is read again, and never leaves the home directory', () => {
  const part = fc.oneof(
    fc.constantFrom('..', '.', '', '~', '.replica', 'home', 'replica', '\0'),
    fc.string(),
  );
  const given = fc
    .tuple(fc.constantFrom('~', HOME_DIRECTORY, '', '/etc'), fc.array(part, { maxLength: 5 }))
    .map(([root, parts]) => [root, ...parts].join('/'));
  fc.assert(
    fc.property(given, (text) => {
      const { path } = parseFilePath(text);
      if (path === null) return;
      expect(parseFilePath(path).path).toBe(path);
      const absolute = HOME_DIRECTORY + path.slice(1);
      expect(parseFilePath(absolute).path).toBe(path);
      expect(new URL(`file://${absolute.split('/').map(encodeURIComponent).join('/')}`).pathname).toMatch(
        /^\/home\/replica\/./,
      );
    }),
  );
});

describe('two paths cannot stand side by side when one would be a folder of the other', () => {
  test.each([
    ['~/a/b', ['~/a'], '~/a'],
    ['~/a', ['~/x', '~/a/b/c'], '~/a/b/c'],
    ['~/a', ['~/ab', '~/b/a'], null],
    ['~/a', ['~/a'], null],
    ['~/a', [], null],
  ])('%s beside %j', (path, others, found) => {
    expect(findNestedPath(path, others)).toBe(found);
  });
});
