import { describe, expect, test } from 'vitest';
import { ConfigError, loadConfig, settings, unknownVariables } from './config.ts';

describe('configuration', () => {
  test('an empty environment gives the defaults', () => {
    expect(loadConfig({})).toMatchObject({
      host: '127.0.0.1',
      port: 7070,
      databaseUrl: undefined,
      allowPrivateTargets: false,
      logLevel: 'info',
    });
  });

  test('an empty value counts as absent', () => {
    expect(loadConfig({ REPLICA_PORT: '' }).port).toBe(7070);
  });

  test.each([
    [{ REPLICA_PORT: '8080' }, { port: 8080 }],
    [{ REPLICA_ALLOW_PRIVATE_TARGETS: 'true' }, { allowPrivateTargets: true }],
    [{ REPLICA_ALLOW_PRIVATE_TARGETS: '0' }, { allowPrivateTargets: false }],
    [{ REPLICA_BASE_URL: 'https://replica.example.org//' }, { baseUrl: 'https://replica.example.org' }],
    [{ REPLICA_DATA_DIR: '/srv/replica/../data' }, { dataDir: '/srv/data' }],
    [{ REPLICA_TRUSTED_PROXIES: '10.0.0.0/8, ::1' }, { trustedProxies: ['10.0.0.0/8', '::1'] }],
    [{}, { trustedProxies: [], modelPricesFile: undefined }],
    [{ REPLICA_MODEL_PRICES: '/etc/replica/../prices.json' }, { modelPricesFile: '/etc/prices.json' }],
  ])('%j is understood', (environment, expected) => {
    expect(loadConfig(environment)).toMatchObject(expected);
  });

  test.each([
    ['REPLICA_PORT', 'http', 'must be a whole number'],
    ['REPLICA_PORT', '65536', 'must be at most 65535'],
    ['REPLICA_PORT', '-1', 'must be a whole number'],
    ['REPLICA_PORT', '1e3', 'must be a whole number'],
    ['REPLICA_LOG_LEVEL', 'loud', 'expected one of'],
    ['REPLICA_ALLOW_PRIVATE_TARGETS', 'maybe', 'must be true or false'],
    ['REPLICA_BASE_URL', 'ftp://x', 'must be an http:// or https:// URL'],
    ['DATABASE_URL', 'mysql://x', 'must start with postgresql://'],
    ['REPLICA_TRUSTED_PROXIES', 'everybody', 'must be IP addresses'],
  ])('%s=%s is refused in one line that names it', (variable, value, reason) => {
    expect(() => loadConfig({ [variable]: value })).toThrow(ConfigError);
    expect(() => loadConfig({ [variable]: value })).toThrow(
      new RegExp(`^${variable} is wrong: [^\\n]*${reason}[^\\n]*$`),
    );
  });

  test('a misspelt name is found', () => {
    expect(unknownVariables({ REPLICA_PROT: '1', REPLICA_PORT: '1', HOME: '/' })).toEqual(['REPLICA_PROT']);
  });

  test('every setting has a variable of its own and a description', () => {
    const all = Object.values(settings);
    expect(new Set(all.map(({ variable }) => variable)).size).toBe(all.length);
    expect(all.filter(({ description }) => !/^[A-Z].*\.$/.test(description))).toEqual([]);
  });
});
