import { describe, expect, test } from 'vitest';
import { type AptSource, findMirrors, parseSources } from './apt-source.ts';

const paragraphs = `
# a comment
Types: deb deb-src
URIs: http://mirror.example/debian/
Suites: bookworm
 bookworm-updates
Components: main

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security

Types: deb
Enabled: no
URIs: http://off.example/debian
Suites: trixie

Types: deb-src
URIs: http://source.example/debian
Suites: trixie
`;

const lines = `
# deb http://off.example/debian bookworm main
deb [arch=arm64 signed-by=/k.gpg] https://one.example/debian trixie main contrib
deb-src http://source.example/debian bookworm main
deb http://two.example/ubuntu noble main
`;

describe('parseSources', () => {
  test('reads paragraphs with continued fields and leaves out what is disabled or source only', () => {
    expect(parseSources(paragraphs, 'debian.sources')).toEqual([
      { uri: 'http://mirror.example/debian', suites: ['bookworm', 'bookworm-updates'] },
      { uri: 'http://mirror.example/debian-security', suites: ['bookworm-security'] },
    ]);
  });

  test('reads one source per line, with or without options', () => {
    expect(parseSources(lines, 'sources.list')).toEqual([
      { uri: 'https://one.example/debian', suites: ['trixie'] },
      { uri: 'http://two.example/ubuntu', suites: ['noble'] },
    ]);
  });
});

describe('findMirrors', () => {
  const own = parseSources(paragraphs, 'debian.sources');
  const debian = {
    main: 'http://deb.debian.org/debian',
    security: 'http://deb.debian.org/debian-security',
  };
  const cases: [string, AptSource[], string, string][] = [
    ['the mirror of the suite', own, 'bookworm', 'http://mirror.example/debian'],
    ['the Debian mirror that has another suite', own, 'trixie', 'http://mirror.example/debian'],
    [
      "Debian's own on a machine of another kind",
      [{ uri: 'http://u.example/ubuntu', suites: ['noble'] }],
      'bookworm',
      debian.main,
    ],
    [
      "Debian's own instead of an address with a password",
      [{ uri: 'http://a:b@m.example/debian', suites: ['bookworm'] }],
      'bookworm',
      debian.main,
    ],
    [
      "Debian's own instead of a local file",
      [{ uri: 'file:/srv/debian', suites: ['bookworm'] }],
      'bookworm',
      debian.main,
    ],
  ];
  test.each(cases)('takes %s', (_, sources, suite, expected) => {
    expect(findMirrors(sources, suite).main).toBe(expected);
  });

  test('takes the security mirror likewise', () => {
    expect(findMirrors(own, 'bookworm').security).toBe('http://mirror.example/debian-security');
    expect(findMirrors([], 'bookworm')).toEqual(debian);
  });
});
