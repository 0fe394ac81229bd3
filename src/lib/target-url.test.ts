import { describe, expect, test } from 'vitest';
import { parseTargetUrl } from './target-url.ts';

const parse = (given: string, allowPrivateTargets: boolean) =>
  parseTargetUrl(given, { field: 'webhook_url', allowPrivateTargets });

describe('a public https address is taken with its path and query', () => {
  test.each([
    ['https://hooks.example.com', 'https://hooks.example.com/'],
    ['HTTPS://Hooks.Example.COM:443/In?Token=a%20b', 'https://hooks.example.com/In?Token=a%20b'],
    ['https://hooks.example.com:8443/a', 'https://hooks.example.com:8443/a'],
    ['https://[2606:4700::1111]/x', 'https://[2606:4700::1111]/x'],
    ['https://mylocalhost/', 'https://mylocalhost/'],
  ])('%s', (given, href) => {
    expect(parse(given, false).url?.href).toBe(href);
  });
});

describe('what is not public is taken only when private targets are allowed', () => {
  test.each([
    'http://hooks.example.com/',
    'http://127.0.0.1:9000/in',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://10.0.0.1/',
    'https://169.254.169.254/latest',
    'https://100.64.0.1/',
    'https://0.0.0.0/',
    'https://[::1]/',
    'https://[::]/',
    'https://[fd00::1]/',
    'https://[fe80::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://localhost/',
    'https://LOCALHOST./',
    'https://a.localhost/',
  ])('%s', (given) => {
    expect(parse(given, true).refusal).toBeNull();
    expect(parse(given, false).refusal).toMatch(/does not allow/);
  });
});

describe('anything else is refused in both cases, with the name of the field', () => {
  test.each([
    ['', /^The webhook_url must be an https/],
    ['hooks.example.com', /^The webhook_url must be an https/],
    ['https:hooks.example.com', /^The webhook_url must be an https/],
    ['https:///hooks', /^The webhook_url must be an https/],
    ['ftp://hooks.example.com', /^The webhook_url must be an https/],
    ['https://hooks.example.com/a b', /^The webhook_url must be an https/],
    ['https://hooks.example.com\\@127.0.0.1', /^The webhook_url must be an https/],
    ['https://hooks.example.com/\nx', /^The webhook_url must be an https/],
    ['https://user@hooks.example.com', /^The webhook_url .* user name/],
    ['https://:secret@hooks.example.com', /^The webhook_url .* user name/],
    ['https://hooks.example.com/#a', /^The webhook_url .* fragment/],
  ])('%j', (given, refusal) => {
    for (const allowPrivateTargets of [true, false]) {
      expect(parse(given, allowPrivateTargets)).toEqual({
        url: null,
        refusal: expect.stringMatching(refusal),
      });
    }
  });
});
