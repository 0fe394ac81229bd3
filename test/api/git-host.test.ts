import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let org: Organization;
beforeAll(async () => {
  world = await startWorld();
});
beforeEach(async () => {
  org = await world.org();
});
afterAll(() => world?.close());

const path = (host: string) => `/v1/organization/git-hosts/${host}`;
const gitlab = { kind: 'gitlab', api_url: 'https://git.example.com/api/v4' };
const list = async (by = org) => (await by.call('GET', '/v1/organization/git-hosts')).body.git_hosts;

describe('git hosts of an organization', () => {
  test('are set, set anew, listed and forgotten', async () => {
    expect(await list()).toEqual([]);
    const made = await org.call('PUT', path('Git.Example.com'), { ...gitlab, api_url: `${gitlab.api_url}/` });
    const updated_at = expect.any(String);
    expect(made.body.git_host).toEqual({ host: 'git.example.com', ...gitlab, updated_at });
    const github = { kind: 'github', api_url: 'https://git.example.com/api/v3' };
    await org.call('PUT', path('git.example.com'), github);
    await org.call('PUT', path('forge.example.com:8443'), gitlab);
    expect(await list()).toEqual([
      { host: 'forge.example.com:8443', ...gitlab, updated_at },
      { host: 'git.example.com', ...github, updated_at },
    ]);
    for (const _ of ['once', 'again'])
      expect((await org.call('DELETE', path('git.example.com'))).body).toEqual({ success: true });
    expect(await list()).toHaveLength(1);
  });

  test('are changed by admins and seen by members, of nobody else', async () => {
    const member = await world.person(org, 'member');
    expect((await member.call('PUT', path('git.example.com'), gitlab)).status).toBe(403);
    expect((await member.call('DELETE', path('git.example.com'))).status).toBe(403);
    await org.call('PUT', path('git.example.com'), gitlab);
    expect((await member.call('GET', '/v1/organization/git-hosts')).body.git_hosts).toHaveLength(1);
    const other = await world.org();
    await other.call('DELETE', path('git.example.com'));
    expect([await list(other), await list()]).toEqual([[], [expect.objectContaining(gitlab)]]);
  });

  test.each([
    { kind: 'bitbucket', api_url: 'https://git.example.com' },
    { kind: 'gitlab', api_url: 'git.example.com' },
    { kind: 'gitlab', api_url: 'http://git.example.com' },
    { kind: 'gitlab', api_url: 'https://user:word@git.example.com' },
    { kind: 'gitlab', api_url: 'https://git.example.com?a=b' },
    { kind: 'gitlab', api_url: 'https://127.0.0.1' },
    { kind: 'gitlab', api_url: 'https://169.254.169.254' },
    { kind: 'gitlab' },
  ])('are not %j', async (body) => {
    const { status, body: answer } = await org.call('PUT', path('git.example.com'), body);
    expect(status).toBe(400);
    expect(JSON.stringify(answer)).not.toContain('base_url');
  });

  test.each([
    'git',
    'https:',
    'git.example.com%2Fapi',
    'a b.example',
    'git.example.com:999999',
    '.example',
    'a..b',
  ])('have no name like %s', async (host) => {
    expect((await org.call('PUT', path(host), gitlab)).status).toBe(404);
  });
});
