import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startWorld, type World } from '../world/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const path = '/v1/organization/coding-agents';
const apiKey = 'sk-test-0123456789-wxyz';
const unset = (agent: string) => ({
  agent,
  configured: false,
  api_key_hint: null,
  base_url: null,
  updated_at: null,
});

test('the settings of each agent are set, read, replaced and removed, and the key is never shown', async () => {
  const org = await world.org();
  for (const agent of ['claude', 'codex', 'cursor', 'opencode']) {
    expect((await org.call('GET', `${path}/${agent}`)).body).toEqual({ coding_agent: unset(agent) });
    const put = await org.call('PUT', `${path}/${agent}`, {
      api_key: apiKey,
      base_url: 'https://a.example.com/v1/',
    });
    expect(put.status).toBe(200);
    expect(put.body).toEqual({
      coding_agent: {
        agent,
        configured: true,
        api_key_hint: 'wxyz',
        base_url: 'https://a.example.com/v1',
        updated_at: expect.any(String),
      },
    });
    expect((await org.call('GET', `${path}/${agent}`)).body).toEqual(put.body);
  }
  const replaced = await org.call('PUT', `${path}/codex`, { api_key: `${apiKey}-next` });
  expect(replaced.body.coding_agent).toMatchObject({ api_key_hint: 'next', base_url: null });

  const list = await org.call('GET', path);
  const shown = list.body.coding_agents.map((agent: { agent: string; api_key_hint: string }) => [
    agent.agent,
    agent.api_key_hint,
  ]);
  expect(shown).toEqual([
    ['claude', 'wxyz'],
    ['codex', 'next'],
    ['cursor', 'wxyz'],
    ['opencode', 'wxyz'],
  ]);
  expect(JSON.stringify(list.body)).not.toContain('0123456789');

  expect((await org.call('DELETE', `${path}/codex`)).body).toEqual({ success: true });
  expect((await org.call('GET', `${path}/codex`)).body).toEqual({ coding_agent: unset('codex') });
  expect((await org.call('DELETE', `${path}/codex`)).body).toEqual({ success: true });
});

test('the settings of one organization are not those of another', async () => {
  const [org, other] = [await world.org(), await world.org()];
  await org.call('PUT', `${path}/claude`, { api_key: apiKey });
  expect((await other.call('GET', `${path}/claude`)).body.coding_agent.configured).toBe(false);
  await other.call('DELETE', `${path}/claude`);
  expect((await org.call('GET', `${path}/claude`)).body.coding_agent.configured).toBe(true);
});

test('the key is not readable in the database', async () => {
  const org = await world.org();
  await org.call('PUT', `${path}/claude`, { api_key: apiKey });
  const row = await world.db
    .selectFrom('coding_agent_setting')
    .selectAll()
    .where('organization_id', '=', org.id)
    .executeTakeFirstOrThrow();
  expect(row.api_key.includes('0123456789')).toBe(false);
});

test('many that set an agent for the first time at once all succeed, and one setting stands', async () => {
  const org = await world.org();
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      org.call('PUT', `${path}/claude`, { api_key: `sk-test-0123456789-${1000 + index}` }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200));
  expect(answers.map(({ body }) => body.coding_agent.api_key_hint)).toEqual(
    Array.from({ length: 12 }, (_, index) => String(1000 + index)),
  );
  const rows = await world.db
    .selectFrom('coding_agent_setting')
    .select('id')
    .where('organization_id', '=', org.id)
    .execute();
  expect(rows).toHaveLength(1);
  expect((await org.call('GET', `${path}/claude`)).body.coding_agent.configured).toBe(true);
});

describe('the hint does not give a short key away', () => {
  test.each([
    ['a', null],
    ['abcdefghijklmno', null],
    ['abcdefghijklmnop', 'mnop'],
  ])('%s', async (api_key, hint) => {
    const org = await world.org();
    const answer = await org.call('PUT', `${path}/claude`, { api_key });
    expect(answer.body.coding_agent.api_key_hint).toBe(hint);
  });
});

describe('a bad request is refused and stores nothing', () => {
  const wrong: [string, unknown][] = [
    ['nothing', {}],
    ['not an object', '[]'],
    ['key of another type', { api_key: 7 }],
    ['null key', { api_key: null }],
    ['empty key', { api_key: '' }],
    ['key with a space', { api_key: 'a b' }],
    ['key with a line break', { api_key: 'a\n' }],
    ['key with NUL', { api_key: 'a\0' }],
    ['key beyond ASCII', { api_key: 'ü' }],
    ['long key', { api_key: 'a'.repeat(4_097) }],
    ['base_url of another type', { api_key: apiKey, base_url: 7 }],
    ['empty base_url', { api_key: apiKey, base_url: '' }],
    ['long base_url', { api_key: apiKey, base_url: `https://a.example.com/${'a'.repeat(2_048)}` }],
    ['NUL in base_url', { api_key: apiKey, base_url: 'https://a.example.com/\0' }],
    ['plain http', { api_key: apiKey, base_url: 'http://a.example.com' }],
    ['a private address', { api_key: apiKey, base_url: 'https://169.254.169.254' }],
    ['a loopback name', { api_key: apiKey, base_url: 'https://localhost:1234' }],
    ['a user name', { api_key: apiKey, base_url: 'https://user:pass@a.example.com' }],
  ];
  test.each(wrong)('%s', async (_, body) => {
    const org = await world.org();
    const answer = await org.call('PUT', `${path}/claude`, body);
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).not.toContain(apiKey);
    expect((await org.call('GET', `${path}/claude`)).body.coding_agent.configured).toBe(false);
  });

  test('a key of 4,096 characters is taken', async () => {
    const org = await world.org();
    expect((await org.call('PUT', `${path}/claude`, { api_key: 'a'.repeat(4_096) })).status).toBe(200);
  });

  test('an agent that does not exist is 404', async () => {
    const org = await world.org();
    for (const agent of ['gemini', 'Claude', 'claude%00', '%20']) {
      expect((await org.call('GET', `${path}/${agent}`)).status).toBe(404);
      expect((await org.call('PUT', `${path}/${agent}`, { api_key: apiKey })).status).toBe(404);
      expect((await org.call('DELETE', `${path}/${agent}`)).status).toBe(404);
    }
  });
});

test('members read the settings, admins change them, strangers do neither', async () => {
  const org = await world.org();
  const member = await world.person(org, 'member');
  const admin = await world.person(org, 'admin');
  expect((await member.call('GET', `${path}/claude`)).status).toBe(200);
  expect((await member.call('GET', path)).status).toBe(200);
  expect((await member.call('PUT', `${path}/claude`, { api_key: apiKey })).status).toBe(403);
  expect((await member.call('DELETE', `${path}/claude`)).status).toBe(403);
  expect((await admin.call('PUT', `${path}/claude`, { api_key: apiKey })).status).toBe(200);
  expect((await world.call('GET', `${path}/claude`)).status).toBe(401);
  expect((await world.call('PUT', `${path}/claude`, { api_key: apiKey })).status).toBe(401);
});

test('an operator who allows private targets lets models be local', async () => {
  const local = await startWorld({ environment: { REPLICA_ALLOW_PRIVATE_TARGETS: 'true' } });
  try {
    const org = await local.org();
    const body = { api_key: apiKey, base_url: 'http://127.0.0.1:8080/v1' };
    const answer = await org.call('PUT', `${path}/opencode`, body);
    expect(answer.body.coding_agent.base_url).toBe('http://127.0.0.1:8080/v1');
  } finally {
    await local.close();
  }
});
