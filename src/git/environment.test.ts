import { describe, expect, test } from 'vitest';
import { basicAuthorization, gitEnvironment, remoteSettings } from './environment.ts';

const https = new URL('https://h.example/a/b');

describe('remoteSettings', () => {
  test.each([
    [https, ['8.8.8.8'], 'h.example:443:8.8.8.8'],
    [new URL('http://h.example/a'), ['8.8.8.8', '2606::1'], 'h.example:80:8.8.8.8,[2606::1]'],
    [new URL('https://h.example:8443/a'), ['2606::1'], 'h.example:8443:[2606::1]'],
  ])('%s is pinned to the checked addresses', (url, addresses, line) => {
    expect(new Map(remoteSettings({ url, addresses, authorization: null })).get('http.curloptResolve')).toBe(
      line,
    );
  });

  test.each([
    ['https://h.example/a', 'https'],
    ['http://h.example/a', 'http'],
    ['file:///a', 'file'],
  ])('%s may use the protocol %s and no other', (url, scheme) => {
    const settings = new Map(remoteSettings({ url: new URL(url), addresses: [], authorization: null }));
    const allowed = [...settings].filter(
      ([name, value]) => /^protocol\..*allow$/.test(name) && value !== 'never',
    );
    expect(settings.get('protocol.allow')).toBe('never');
    expect(allowed).toEqual([[`protocol.${scheme}.allow`, 'always']]);
  });

  test('a credential becomes one header, and none is sent without one', () => {
    const authorization = basicAuthorization({ username: 'me', secret: 'pä\nss' });
    const settings = new Map(remoteSettings({ url: https, addresses: [], authorization }));
    const value = settings.get('http.extraHeader') ?? '';
    expect(value).toMatch(/^Authorization: Basic [A-Za-z0-9+/=]+$/);
    expect(Buffer.from(value.replace(/^.* /, ''), 'base64').toString()).toBe('me:pä\nss');
    expect(
      new Map(remoteSettings({ url: https, addresses: [], authorization: null })).has('http.extraHeader'),
    ).toBe(false);
    const file = remoteSettings({ url: new URL('file:///a'), addresses: [], authorization });
    expect(new Map(file).has('http.extraHeader')).toBe(false);
  });
});

describe('gitEnvironment', () => {
  test('settings are counted and numbered, and nothing else of the service comes along', () => {
    const environment = gitEnvironment({
      home: '/h',
      ceiling: '/c',
      path: '/bin',
      settings: [
        ['a.b', 'x'],
        ['c.d', ''],
      ],
    });
    expect(environment).toMatchObject({
      GIT_CONFIG_COUNT: '2',
      GIT_CONFIG_KEY_0: 'a.b',
      GIT_CONFIG_VALUE_0: 'x',
      GIT_CONFIG_KEY_1: 'c.d',
      GIT_CONFIG_VALUE_1: '',
      GIT_CONFIG_GLOBAL: '/dev/null',
      HOME: '/h',
      PATH: '/bin',
    });
    expect(Object.keys(environment).filter((name) => !/^(GIT_.*|PATH|HOME|LC_ALL)$/.test(name))).toEqual([]);
  });
});
