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
    const more = { has_webhook_secret: false, updated_at: expect.any(String) };
    expect(made.body.git_host).toEqual({ host: 'git.example.com', ...gitlab, ...more });
    const github = { kind: 'github', api_url: 'https://git.example.com/api/v3' };
    await org.call('PUT', path('git.example.com'), github);
    await org.call('PUT', path('forge.example.com:8443'), gitlab);
    expect(await list()).toEqual([
      { host: 'forge.example.com:8443', ...gitlab, ...more },
      { host: 'git.example.com', ...github, ...more },
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

  test('need no address when it is known', async () => {
    const { body } = await org.call('PUT', path('github.com'), { kind: 'github' });
    expect(body.git_host).toMatchObject({ host: 'github.com', api_url: 'https://api.github.com' });
    const { status } = await org.call('PUT', path('gitlab.com'), { kind: 'github' });
    expect(status).toBe(400);
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

  test.each(['', 'short', 'two words', 'ünïcödé-secret', 'x'.repeat(256), 7])(
    'have no secret like %j',
    async (webhook_secret) => {
      const { status } = await org.call('PUT', path('git.example.com'), { ...gitlab, webhook_secret });
      expect(status).toBe(400);
    },
  );

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

describe('the secret of a git host', () => {
  const put = (body: object) => org.call('PUT', path('git.example.com'), { ...gitlab, ...body });

  test('is set, kept, changed and removed, and never shown', async () => {
    const webhook_secret = 'not-to-be-shown';
    const made = await put({ webhook_secret });
    expect(made.body.git_host.has_webhook_secret).toBe(true);
    expect((await put({})).body.git_host.has_webhook_secret).toBe(true);
    expect((await put({ webhook_secret: 'another-secret' })).body.git_host.has_webhook_secret).toBe(true);
    expect(JSON.stringify([made.body, await list()])).not.toContain(webhook_secret);
    const { rows } = await world.pool.query(
      'select webhook_secret from git_host where organization_id = $1',
      [org.id],
    );
    expect(rows[0].webhook_secret.includes('another-secret')).toBe(false);
    expect((await put({ webhook_secret: null })).body.git_host.has_webhook_secret).toBe(false);
  });

  test('makes the host an integration of the organization', async () => {
    const environment = await org.call('POST', '/v1/environments', { name: 'plain' });
    const made = await org.call('POST', '/v1/replica', {
      name: 'one',
      message: 'Go.',
      source: 'api',
      environment_id: environment.body.environment.id,
    });
    const integrations = async () => {
      const { body } = await org.call('GET', `/v1/replica/${made.body.replica.id}?include=environment`);
      return body.replica.environment.integrations;
    };
    const none = { github: false, gitlab: false, linear: false, slack: false, google: false };
    expect(await integrations()).toEqual(none);
    await put({ webhook_secret: 'known-to-both' });
    expect(await integrations()).toEqual({ ...none, gitlab: true });
    const credential = await org.call('POST', '/v1/repository-credentials', { name: 'bot', token: 'secret' });
    await org.call('POST', '/v1/repositories', {
      url: 'https://github.com/acme/shop',
      credential_id: credential.body.credential.id,
    });
    expect(await integrations()).toEqual({ ...none, github: true, gitlab: true });
  });
});
