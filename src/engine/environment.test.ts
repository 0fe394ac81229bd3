import { expect, test } from 'vitest';
import { composeEnvironment, fitVariables } from './environment.ts';

const source = {
  home: '/home/replica',
  folder: '/home/replica/.replica',
  secret: 'p@ss/word',
  sandboxId: 'sandbox-1',
  gatewayPort: 8484,
  userName: 'root',
  searchPath: undefined,
};
const compose = (variables: Record<string, string> = {}) =>
  composeEnvironment(source, { variables, repositories: [] });

test('programs find the gateway, their home and what is installed there', () => {
  expect(compose()).toMatchObject({
    HOME: '/home/replica',
    PATH: '/home/replica/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LANG: 'C.UTF-8',
    HTTPS_PROXY: 'http://replica:p%40ss%2Fword@127.0.0.1:8484',
    https_proxy: 'http://replica:p%40ss%2Fword@127.0.0.1:8484',
    NO_PROXY: 'localhost,127.0.0.1,::1',
    NODE_USE_ENV_PROXY: '1',
    REPLICA_GATEWAY_URL: 'http://127.0.0.1:8484',
    REPLICA_SANDBOX_ID: 'sandbox-1',
  });
  expect(compose()).not.toHaveProperty('CI');
});

test("the workspace's variables override suggestions and not what it stands on", () => {
  const environment = compose({ LANG: 'de_DE.UTF-8', HOME: '/elsewhere', TOKEN: 'x', CI: '1' });
  expect(environment).toMatchObject({ LANG: 'de_DE.UTF-8', HOME: '/home/replica', TOKEN: 'x', CI: '1' });
});

test.each<[Record<string, string>, string]>([
  [{}, 'localhost,127.0.0.1,::1'],
  [{ NO_PROXY: 'corp.example' }, 'corp.example,localhost,127.0.0.1,::1'],
  [{ NO_PROXY: 'a', no_proxy: 'a' }, 'a,localhost,127.0.0.1,::1'],
  [{ NO_PROXY: 'a', no_proxy: 'b' }, 'a,b,localhost,127.0.0.1,::1'],
])('the gateway is reached past the proxy with %j', (variables, expected) => {
  expect(compose(variables)).toMatchObject({ NO_PROXY: expected, no_proxy: expected });
});

test.each<[string, Record<string, string>, string[], RegExp | null]>([
  ['ordinary ones', { A: '1', B: '' }, ['A', 'B'], null],
  [
    'one that is too long',
    { A: '1', LONG: 'x'.repeat(131_072) },
    ['A'],
    /LONG is not set: no program can be started/,
  ],
  ['a name with =', { 'A=B': '1' }, [], /its name cannot be/],
  ['an empty name', { '': '1' }, [], /its name cannot be/],
  ['a value with NUL', { A: 'x\0y' }, [], /NUL/],
])('of variables, %s', (_, variables, kept, warning) => {
  const fitted = fitVariables(variables);
  expect(Object.keys(fitted.variables)).toEqual(kept);
  expect(fitted.warnings).toEqual(warning ? [expect.stringMatching(warning)] : []);
});

test('all variables together leave a program room to start', () => {
  const variables = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [`V${index}`, 'x'.repeat(65_536)]),
  );
  const fitted = fitVariables(variables);
  expect(Object.keys(fitted.variables)).toHaveLength(15);
  expect(fitted.warnings[0]).toMatch(/longer than 1 MiB/);
});
