import { describe, expect, test } from 'vitest';
import { GitUrlError, parseGitUrl } from './url.ts';

const strict = { allowPrivateTargets: false };
const open = { allowPrivateTargets: true };

describe('parseGitUrl', () => {
  test.each([
    ['https://github.com/acme/api', 'https://github.com/acme/api', 'github.com', 'api', 'acme/api'],
    [
      'HTTPS://GitHub.com:443//acme///api.git/',
      'https://github.com/acme/api.git',
      'github.com',
      'api',
      'acme/api',
    ],
    [
      'https://gitlab.com/group/sub/api.git',
      'https://gitlab.com/group/sub/api.git',
      'gitlab.com',
      'api',
      'group/sub/api',
    ],
    ['https://git.example.:8443/api', 'https://git.example:8443/api', 'git.example:8443', 'api', 'api'],
    ['https://git.sr.ht/~me/tool', 'https://git.sr.ht/~me/tool', 'git.sr.ht', 'tool', '~me/tool'],
    ['https://h.example/a%20b/c%20d', 'https://h.example/a%20b/c%20d', 'h.example', 'c d', 'a b/c d'],
    ['https://bücher.example/a/b', 'https://xn--bcher-kva.example/a/b', 'xn--bcher-kva.example', 'b', 'a/b'],
    ['https://h.example/x/../a/b', 'https://h.example/a/b', 'h.example', 'b', 'a/b'],
    ['https://8.8.8.8/a/b', 'https://8.8.8.8/a/b', '8.8.8.8', 'b', 'a/b'],
  ])('%s is %s', (text, url, host, name, fullName) => {
    expect(parseGitUrl(text, strict)).toEqual({ url, key: url.replace(/\.git$/, ''), host, name, fullName });
  });

  test.each([
    ['http://127.0.0.1:8080/a/b.git', 'http://127.0.0.1:8080/a/b.git', '127.0.0.1:8080', 'a/b'],
    ['http://[::1]/a/b', 'http://[::1]/a/b', '[::1]', 'a/b'],
    ['file:///srv/git/acme/api.git', 'file:///srv/git/acme/api.git', null, 'acme/api'],
    ['file://localhost/srv/api', 'file:///srv/api', null, 'srv/api'],
    ['file:///api', 'file:///api', null, 'api'],
  ])('%s is taken when private targets are allowed, and refused otherwise', (text, url, host, fullName) => {
    expect(parseGitUrl(text, open)).toMatchObject({ url, host, fullName });
    expect(() => parseGitUrl(text, strict)).toThrow(GitUrlError);
  });

  test('spellings of one repository have one key', () => {
    const spellings = [
      'https://H.example/a/b',
      'https://h.example/a/b/',
      'https://h.example:443/a//b.git',
      'https://h.example./a/b.git/',
    ];
    expect(new Set(spellings.map((text) => parseGitUrl(text, strict).key))).toEqual(
      new Set(['https://h.example/a/b']),
    );
  });

  test('a canonical URL is its own canonical form', () => {
    for (const text of ['https://H.example//a/b.git//', 'https://h.example/a%20b/c']) {
      const { url } = parseGitUrl(text, strict);
      expect(parseGitUrl(url, strict).url).toBe(url);
    }
  });

  test.each([
    ['', /must start with https/],
    ['acme/api', /must start with https/],
    ['git@github.com:acme/api.git', /SSH/],
    ['ssh://git@github.com/acme/api.git', /other protocols/],
    ['git://github.com/acme/api.git', /other protocols/],
    ['ext::sh -c id', /spaces/],
    ['ext::sh', /must start with https/],
    ['ext::https://h.example/a', /must start with https/],
    ['--upload-pack=id', /must start with https/],
    ['-https://h.example/a/b', /must start with https/],
    ['/srv/git/api.git', /must start with https/],
    ['javascript://h.example/a', /other protocols/],
    ['https://user:pass@h.example/a/b', /use a credential/],
    ['https://token@h.example/a/b', /use a credential/],
    ['https://:pass@h.example/a/b', /use a credential/],
    ['https://@h.example/a/b', /use a credential/],
    ['https://h.example/a/b?x=1', /query or a fragment/],
    ['https://h.example/a/b?', /query or a fragment/],
    ['https://h.example/a/b#main', /query or a fragment/],
    ['https://h.example/a b', /spaces/],
    [' https://h.example/a/b', /spaces/],
    ['https://h.example/a/b\n', /control/],
    ['https://h.example/a\0b', /control/],
    ['https://h.example/a%0ab', /control/],
    ['https://h.example/a%00b', /control/],
    ['https://h.example/a\u202eb', /control/],
    ['https://h.example\\@evil.example/a', /backslash/],
    ['https://h.example/a/%5cb', /not validly encoded/],
    ['https://h.example/a%2fb', /not validly encoded/],
    ['https://h.example/%ff', /not validly encoded/],
    ['https://h.example', /must name a repository/],
    ['https://h.example/', /must name a repository/],
    ['https://h.example/.git', /must name a repository/],
    ['https://h.example/a/.git', /must name a repository/],
    ['https://h.example/a/--bare', /hyphen/],
    ['https://h.example/-c/b', /hyphen/],
    ['https://-oProxyCommand=id/a', /not valid|hyphen/],
    ['https://-h.example/a', /hyphen/],
    ['https:///a/b', /names no host/],
    ['https://////a/b', /names no host/],
    [`https://h.example/${'é'.repeat(1024)}`, /longer than 2048/],
    ['https://..example/a/b', /host/],
    ['https://127.0.0.1/a/b', /private targets/],
    ['https://0x7f.1/a/b', /private targets/],
    ['https://2130706433/a/b', /private targets/],
    ['https://[::1]/a/b', /private targets/],
    ['https://[::ffff:7f00:1]/a/b', /private targets/],
    ['https://localhost/a/b', /private targets/],
    ['https://git.localhost./a/b', /private targets/],
    ['https://169.254.169.254/latest/meta-data', /private targets/],
    ['file://server/share/a', /does not allow/],
    [`https://h.example/${'a'.repeat(2048)}`, /longer than 2048/],
  ])('%j is refused', (text, sentence) => {
    expect(() => parseGitUrl(text, strict)).toThrow(GitUrlError);
    expect(() => parseGitUrl(text, strict)).toThrow(sentence);
  });

  test.each([
    'file://server/share/a',
    'file:///',
    'ssh://h.example/a',
    'http://u:p@127.0.0.1/a',
    'http://..h/a',
  ])('%s is refused even when private targets are allowed', (text) =>
    expect(() => parseGitUrl(text, open)).toThrow(GitUrlError),
  );
});
