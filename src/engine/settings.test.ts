import { expect, test } from 'vitest';
import { readSettings } from './settings.ts';

const least = { REPLICA_ENGINE_SECRET: 's3cret', REPLICA_SANDBOX_ID: 'sandbox-1', REPLICA_INCARNATION: '3' };

test('inside a sandbox everything but the identity is where it always is', () => {
  expect(readSettings(least)).toEqual({
    secret: 's3cret',
    sandboxId: 'sandbox-1',
    incarnation: 3,
    home: '/home/replica',
    gatewaySocket: '/run/replica/gateway.sock',
    gatewayPort: 8484,
    agentsFolder: '/opt/replica/agents',
  });
});

test('where there are no namespaces the places can be set', () => {
  const places = {
    REPLICA_ENGINE_HOME: '/data/home',
    REPLICA_ENGINE_GATEWAY: '/data/gateway.sock',
    REPLICA_ENGINE_GATEWAY_PORT: '0',
    REPLICA_ENGINE_AGENTS: '/data/agents',
  };
  expect(readSettings({ ...least, ...places })).toMatchObject({
    home: '/data/home',
    gatewaySocket: '/data/gateway.sock',
    gatewayPort: 0,
    agentsFolder: '/data/agents',
  });
});

test.each<[string, Record<string, string>, RegExp]>([
  ['no secret', { REPLICA_ENGINE_SECRET: '' }, /^REPLICA_ENGINE_SECRET is not set/],
  [
    'a secret no header can carry',
    { REPLICA_ENGINE_SECRET: 'a\nb' },
    /^REPLICA_ENGINE_SECRET has a character/,
  ],
  ['no sandbox', { REPLICA_SANDBOX_ID: '' }, /^REPLICA_SANDBOX_ID is not set/],
  [
    'an incarnation that is none',
    { REPLICA_INCARNATION: '0' },
    /^REPLICA_INCARNATION must be a whole number from 1/,
  ],
  ['a port that is none', { REPLICA_ENGINE_GATEWAY_PORT: 'x' }, /^REPLICA_ENGINE_GATEWAY_PORT must be/],
])('%s is refused by name and never shown', (_, wrong, sentence) => {
  expect(() => readSettings({ ...least, ...wrong })).toThrow(sentence);
});
