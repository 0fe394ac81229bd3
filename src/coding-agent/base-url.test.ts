import { describe, expect, test } from 'vitest';
import { parseBaseUrl } from './base-url.ts';

describe('a public https address is kept without a slash at the end', () => {
  test.each([
    ['https://models.example.com', 'https://models.example.com'],
    ['https://models.example.com/', 'https://models.example.com'],
    ['https://models.example.com/v1//', 'https://models.example.com/v1'],
    ['HTTPS://Models.Example.COM:443/V1', 'https://models.example.com/V1'],
    ['https://models.example.com:8443/a', 'https://models.example.com:8443/a'],
    ['https://8.8.8.8', 'https://8.8.8.8'],
    ['https://[2606:4700::1111]/x', 'https://[2606:4700::1111]/x'],
    ['https://mylocalhost', 'https://mylocalhost'],
  ])('%s', (given, baseUrl) => {
    expect(parseBaseUrl(given, { allowPrivateTargets: false })).toEqual({ baseUrl, refusal: null });
  });
});

describe('what is not public is taken only when the operator allows private targets', () => {
  test.each([
    ['http://models.example.com', 'http://models.example.com'],
    ['http://127.0.0.1:9000/v1', 'http://127.0.0.1:9000/v1'],
    ['https://127.1', 'https://127.0.0.1'],
    ['https://2130706433', 'https://127.0.0.1'],
    ['https://0x7f.1/', 'https://127.0.0.1'],
    ['https://10.0.0.1', 'https://10.0.0.1'],
    ['https://169.254.169.254/latest', 'https://169.254.169.254/latest'],
    ['https://[::1]', 'https://[::1]'],
    ['https://[::ffff:10.0.0.1]', 'https://[::ffff:a00:1]'],
    ['https://localhost', 'https://localhost'],
    ['https://a.localhost.', 'https://a.localhost.'],
  ])('%s', (given, baseUrl) => {
    expect(parseBaseUrl(given, { allowPrivateTargets: true })).toEqual({ baseUrl, refusal: null });
    expect(parseBaseUrl(given, { allowPrivateTargets: false }).refusal).toMatch(/does not allow/);
  });
});

describe('anything else is refused in both cases', () => {
  test.each([
    ['', /must be an https/],
    ['models.example.com', /must be an https/],
    ['https:models.example.com', /must be an https/],
    ['https:///models', /must be an https/],
    ['ftp://models.example.com', /must be an https/],
    ['file:///etc/passwd', /must be an https/],
    ['https://models.example.com/a b', /must be an https/],
    ['https://models.example.com\\@127.0.0.1', /must be an https/],
    ['https://models.example.com/\nx', /must be an https/],
    ['https://user@models.example.com', /user name/],
    ['https://user:secret@models.example.com', /user name/],
    ['https://models.example.com/?a=b', /query/],
    ['https://models.example.com/#a', /fragment/],
  ])('%j', (given, refusal) => {
    for (const allowPrivateTargets of [true, false]) {
      expect(parseBaseUrl(given, { allowPrivateTargets }).refusal).toMatch(refusal);
    }
  });
});
