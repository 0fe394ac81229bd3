import { describe, expect, test } from 'vitest';
import { operations } from '../../src/contract/operations.ts';

/** Paths of the specification by the part of it that has them; names of parameters are free. */
const endpoints = {
  replicas: [
    'POST /v1/replica',
    'GET /v1/replica',
    'GET /v1/replica/repositories',
    'GET /v1/replica/{}',
    'DELETE /v1/replica/{}',
    'POST /v1/replica/{}/wake',
    'POST /v1/replica/{}/messages',
    'GET /v1/replica/{}/history',
    'GET /v1/replica/{}/events',
    'GET /v1/replica/{}/hooks',
    'GET /v1/replica/{}/canvas',
    'GET /v1/replica/{}/canvas/{}',
  ],
  chats: [
    'GET /v1/replica/{}/chats',
    'POST /v1/replica/{}/chats',
    'GET /v1/replica/{}/chats/{}/queue',
    'DELETE /v1/replica/{}/chats/{}/queue',
    'DELETE /v1/replica/{}/chats/{}/queue/{}',
    'PATCH /v1/replica/{}/chats/{}/queue/reorder',
  ],
  environments: [
    'GET /v1/environments',
    'POST /v1/environments',
    'GET /v1/environments/{}',
    'PATCH /v1/environments/{}',
    'DELETE /v1/environments/{}',
    'GET /v1/environments/{}/variables',
    'POST /v1/environments/{}/variables',
    'PATCH /v1/environments/{}/variables/{}',
    'DELETE /v1/environments/{}/variables/{}',
    'GET /v1/environments/{}/files',
    'POST /v1/environments/{}/files',
    'GET /v1/environments/{}/files/{}',
    'PATCH /v1/environments/{}/files/{}',
    'DELETE /v1/environments/{}/files/{}',
    'GET /v1/environment-skills/search',
    'GET /v1/environments/{}/skills',
    'POST /v1/environments/{}/skills',
    'DELETE /v1/environments/{}/skills/{}',
    'GET /v1/environments/{}/skills-registries',
    'POST /v1/environments/{}/skills-registries',
    'DELETE /v1/environments/{}/skills-registries/{}',
    'GET /v1/environments/{}/mcps',
    'POST /v1/environments/{}/mcps',
    'PATCH /v1/environments/{}/mcps/{}',
    'DELETE /v1/environments/{}/mcps/{}',
    'GET /v1/environments/{}/warm-hooks',
    'GET /v1/environments/{}/warm-hooks/repository-hooks',
    'POST /v1/environments/{}/warm-hooks/test',
    'POST /v1/environments/{}/warm-hooks/save',
    'POST /v1/environments/{}/warm-hooks/save-test',
    'POST /v1/environments/{}/warm-hooks/save-test/stream',
    'PUT /v1/environments/{}/warm-pools',
    'GET /v1/environments/{}/start-hooks',
    'GET /v1/environments/{}/start-hooks/repository-hooks',
    'POST /v1/environments/{}/start-hooks/save',
    'POST /v1/environments/{}/start-hooks/test',
    'POST /v1/environments/{}/start-hooks/test/stream',
  ],
  'warm workspaces': ['GET /v1/warm-pool-workspaces/{}/stream'],
  automations: [
    'GET /v1/automations',
    'POST /v1/automations',
    'GET /v1/automations/{}',
    'PATCH /v1/automations/{}',
    'DELETE /v1/automations/{}',
    'POST /v1/automations/{}/trigger',
    'GET /v1/automations/{}/executions',
  ],
};

const routes = Object.values(operations).map(
  ({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`,
);

describe('the contract', () => {
  test.each(Object.entries(endpoints))('has the endpoints of %s', (_part, wanted) => {
    expect(wanted.filter((route) => !routes.includes(route))).toEqual([]);
  });

  test('has every path under /v1 but those about the service itself', () => {
    const outside = Object.values(operations).filter(({ path }) => !path.startsWith('/v1/'));
    expect(outside).toEqual([]);
  });
});
