import { describe, expect, test } from 'vitest';
import { defaultEgressHosts } from './egress-hosts.ts';
import { decideEgress, type EgressPolicy, isEgressPattern, normalizeHost } from './egress-policy.ts';

const list = (...hosts: string[]): EgressPolicy => ({ mode: 'allowlist', hosts });
const open = (...hosts: string[]): EgressPolicy => ({ mode: 'open', hosts });

describe('normalizeHost', () => {
  test.each([
    ['example.com', 'example.com'],
    ['EXAMPLE.Com', 'example.com'],
    ['example.com.', 'example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
    ['ｅxample.com', 'example.com'],
    ['localhost', 'localhost'],
    ['_srv.example.com', '_srv.example.com'],
    ['127.0.0.1', '127.0.0.1'],
    ['127.0.0.1.', '127.0.0.1'],
    ['127.1', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['0x7f000001', '127.0.0.1'],
    ['0177.0.0.1', '127.0.0.1'],
    ['0x7f.0.0.1', '127.0.0.1'],
    ['１２７.0.0.1', '127.0.0.1'],
    ['127。0。0。1', '127.0.0.1'],
    ['0', '0.0.0.0'],
    ['::1', '[::1]'],
    ['[::1]', '[::1]'],
    ['[0:0:0:0:0:0:0:1]', '[::1]'],
    ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]'],
    ['[2001:DB8::1]', '[2001:db8::1]'],
  ])('%s is %s', (text, host) => {
    expect(normalizeHost(text)).toBe(host);
  });

  test.each([
    '',
    '.',
    '..',
    'a..b',
    '.example.com',
    'example.com..',
    '256.256.256.256',
    '1.2.3.4.5',
    '[::1%eth0]',
    'fe80::1%eth0',
    '[fe80::1%25eth0]',
    '[::1',
    '::1]',
    '[]',
    '[::ffff:999.0.0.1]',
    'a b',
    'a/b',
    'a@b',
    'a:80',
    'a%2eb',
    'a\0b',
    '-a.example',
    '*.example.com',
    `${'a'.repeat(64)}.com`,
    `${'a.'.repeat(130)}com`,
  ])('%j is no host', (text) => {
    expect(normalizeHost(text)).toBeNull();
  });
});

describe('decideEgress', () => {
  test.each([
    ['the host of the list', list('example.com'), 'example.com', 443, true, 'listed'],
    ['plain http to it', list('example.com'), 'example.com', 80, true, 'listed'],
    ['other letters and a final dot', list('Example.COM'), 'eXample.com.', 443, true, 'listed'],
    ['another port of it', list('example.com'), 'example.com', 8443, false, 'port_not_allowed'],
    ['the port of the list', list('example.com:8443'), 'example.com', 8443, true, 'listed'],
    ['only the port of the list', list('example.com:8443'), 'example.com', 443, false, 'port_not_allowed'],
    ['both ports', list('example.com:8443', 'example.com'), 'example.com', 443, true, 'listed'],
    ['a name below a host of the list', list('example.com'), 'a.example.com', 443, false, 'not_listed'],
    ['a name that ends alike', list('example.com'), 'badexample.com', 443, false, 'not_listed'],
    ['a name below a wildcard', list('*.example.com'), 'a.b.example.com', 443, true, 'listed'],
    ['the name of the wildcard itself', list('*.example.com'), 'example.com', 443, false, 'not_listed'],
    ['a name that ends like a wildcard', list('*.example.com'), 'badexample.com', 443, false, 'not_listed'],
    ['the port of a wildcard', list('*.example.com:22'), 'a.example.com', 22, true, 'listed'],
    ['another script', list('bücher.example'), 'xn--bcher-kva.example', 443, true, 'listed'],
    ['another script the other way', list('xn--bcher-kva.example'), 'BÜCHER.example', 443, true, 'listed'],
    ['an address of the list, oddly spelled', list('10.0.0.5'), '0xa000005', 443, true, 'listed'],
    ['an address that is not listed', list('example.com'), '93.184.216.34', 443, false, 'not_listed'],
    ['an IPv6 address of the list', list('[2001:db8::1]:8080'), '[2001:DB8:0::1]', 8080, true, 'listed'],
    ['a mapped address for a listed one', list('127.0.0.1'), '[::ffff:127.0.0.1]', 80, false, 'not_listed'],
    ['an address below a wildcard', list('*.0.0.1'), '127.0.0.1', 80, false, 'not_listed'],
    ['a wildcard for everything', list('*', '*.com', '*.*'), 'example.com', 443, false, 'not_listed'],
    ['a zone', list('[fe80::1]'), '[fe80::1%25eth0]', 80, false, 'not_a_host'],
    ['nothing at all', list(), 'example.com', 443, false, 'not_listed'],
    ['any host in an open policy', open(), 'example.com', 12_345, true, 'open'],
    ['mail in an open policy', open(), 'example.com', 25, false, 'port_not_allowed'],
    ['mail to a listed host', open('example.com:25'), 'example.com', 25, true, 'listed'],
    ['a listed host in an open policy', open('db.intern:5432'), 'db.intern', 5432, true, 'listed'],
    ['no host in an open policy', open(), 'a b', 443, false, 'not_a_host'],
    [
      'a listed host under none',
      { mode: 'none', hosts: ['a.example'] },
      'a.example',
      443,
      false,
      'no_egress',
    ],
  ] as [string, EgressPolicy, string, number, boolean, string][])(
    '%s',
    (_, policy, host, port, isAllowed, reason) => {
      const decision = decideEgress(policy, { host, port });
      expect(decision).toEqual({ isAllowed, reason, isListed: reason === 'listed' });
    },
  );

  test.each(['127.0.0.1', '127.1', '169.254.169.254', '[::1]', '0x7f000001', 'localhost'])(
    '%s is never listed by an open policy, so that its address is checked',
    (host) => {
      expect(decideEgress(open(), { host, port: 80 }).isListed).toBe(false);
    },
  );
});

test('every host of the default list is a pattern, and stands there once', () => {
  expect(defaultEgressHosts.filter((host) => !isEgressPattern(host))).toEqual([]);
  expect(new Set(defaultEgressHosts).size).toBe(defaultEgressHosts.length);
});

test.each([
  '',
  '*',
  '*.com',
  '*.10.0.0.1',
  'a*.example.com',
  'example.com:0',
  'example.com:70000',
  'a:b',
  'http://a.example',
])('%j is no pattern', (text) => {
  expect(isEgressPattern(text)).toBe(false);
});
