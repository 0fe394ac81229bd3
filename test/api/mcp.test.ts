import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let org: Organization;
let other: Organization;
beforeAll(async () => {
  world = await startWorld();
  org = await world.org();
  other = await world.org();
});
afterAll(() => world.close());

const stdio = (changes = {}) => ({
  name: 'files',
  transport: 'stdio',
  config: { command: 'npx' },
  ...changes,
});
const http = (changes = {}) => ({
  name: 'web',
  transport: 'http',
  config: { url: 'https://a.example.com' },
  ...changes,
});

test('a server is added, listed, read, changed and removed', async () => {
  const mcps = await makePath(org);
  const config = {
    command: 'npx',
    args: ['-y', 'pkg'],
    env: { TOKEN: 'ü' },
    cwd: '~/a',
    more: { deep: [1, null] },
  };
  const made = await org.call('POST', mcps, stdio({ config }));
  expect(made.status).toBe(201);
  expect(made.body.environment_mcp).toEqual({
    id: expect.any(String),
    organization_id: org.id,
    environment_id: mcps.split('/')[3],
    name: 'files',
    transport: 'stdio',
    config,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  const { id } = made.body.environment_mcp;
  expect((await org.call('GET', `${mcps}/${id}`)).body).toEqual(made.body);

  const second = await org.call('POST', mcps, http({ name: 'a', transport: 'sse' }));
  const list = await org.call('GET', mcps);
  expect(list.body.environment_mcps).toEqual([second.body.environment_mcp, made.body.environment_mcp]);

  const renamed = await org.call('PATCH', `${mcps}/${id}`, { name: 'renamed' });
  expect(renamed.status).toBe(200);
  expect(renamed.body.environment_mcp).toMatchObject({ name: 'renamed', transport: 'stdio', config });
  const replaced = await org.call('PATCH', `${mcps}/${id}`, { config: { command: 'uvx' } });
  expect(replaced.body.environment_mcp.config).toEqual({ command: 'uvx' });

  expect((await org.call('DELETE', `${mcps}/${id}`)).body).toEqual({ success: true });
  expect((await org.call('GET', `${mcps}/${id}`)).status).toBe(404);
  expect((await org.call('DELETE', `${mcps}/${id}`)).status).toBe(404);
});

test('servers of the Global environment are reached by its name, and counted', async () => {
  await org.call('POST', '/v1/environments/global/mcps', http());
  expect((await org.call('GET', '/v1/environments/global/mcps')).body.environment_mcps).toHaveLength(1);
  expect((await org.call('GET', '/v1/environments/global')).body.environment.mcp_count).toBe(1);
});

test('a change of transport needs a config that fits it, and a config alone must fit the transport that stands', async () => {
  const mcps = await makePath(org);
  const made = (await org.call('POST', mcps, stdio())).body;
  const one = `${mcps}/${made.environment_mcp.id}`;
  const refused: [Record<string, unknown>, RegExp][] = [
    [{ transport: 'http' }, /config for http must be given/],
    [{ transport: 'http', config: { command: 'npx' } }, /does not fit the transport http/],
    [{ config: { url: 'https://a.example.com' } }, /does not fit the transport stdio/],
    [{ transport: 'tcp', config: {} }, /transport/],
    [{ config: null }, /config/],
    [{ config: [] }, /config/],
    [{ config: {} }, /config\.command/],
    [{ name: 'replica-x' }, /reserved/],
    [{ name: null }, /name/],
  ];
  for (const [body, sentence] of refused) {
    const answer = await org.call('PATCH', one, body);
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatch(sentence);
  }
  expect((await org.call('GET', one)).body).toEqual(made);

  const config = { url: 'https://a.example.com/mcp', headers: { Authorization: 'Bearer a' } };
  const changed = await org.call('PATCH', one, { transport: 'http', config });
  expect(changed.body.environment_mcp).toMatchObject({ transport: 'http', config, name: 'files' });
  const same = await org.call('PATCH', one, { transport: 'http' });
  expect(same.body.environment_mcp).toMatchObject({ transport: 'http', config });
});

test('the config is not readable in the database', async () => {
  const mcps = await makePath(org);
  const made = await org.call('POST', mcps, stdio({ config: { command: 'very-secret-words' } }));
  const row = await world.db
    .selectFrom('environment_mcp')
    .select('config')
    .where('id', '=', made.body.environment_mcp.id)
    .executeTakeFirstOrThrow();
  expect(row.config.includes('secret')).toBe(false);
});

test('each change makes the warm pool older, a refused one does not', async () => {
  const mcps = await makePath(org);
  const generation = async () =>
    (await org.call('GET', mcps.replace('/mcps', '/warm-hooks'))).body.warm_pool.generation;
  const { id } = (await org.call('POST', mcps, stdio())).body.environment_mcp;
  expect(await generation()).toBe(2);
  await org.call('PATCH', `${mcps}/${id}`, { name: 'b' });
  expect(await generation()).toBe(3);
  await org.call('POST', mcps, stdio({ name: 'b' }));
  await org.call('PATCH', `${mcps}/${id}`, { transport: 'http' });
  expect(await generation()).toBe(3);
  await org.call('DELETE', `${mcps}/${id}`);
  expect(await generation()).toBe(4);
});

describe('a name', () => {
  test.each([
    'a',
    'A-b_9',
    '9',
    'a'.repeat(64),
    'service',
    'replica',
    'my-service-',
    'replica_x',
    'replicas-x',
  ])('%s is taken', async (name) => {
    expect((await org.call('POST', await makePath(org), stdio({ name }))).status).toBe(201);
  });

  test.each([
    '',
    '-a',
    '_a',
    'a b',
    'a.b',
    'ü',
    'a\n',
    'a\0',
    'a'.repeat(65),
    'service-',
    'service-a',
    'SERVICE-a',
    'replica-a',
    'Replica-A',
    7,
    null,
  ])('%j is refused', async (name) => {
    const answer = await org.call('POST', await makePath(org), stdio({ name }));
    expect(answer.status).toBe(400);
    expect(answer.body.error).toContain('name');
  });

  test('stands once in an environment, also when many ask at once', async () => {
    const mcps = await makePath(org);
    const answers = await Promise.all(Array.from({ length: 8 }, () => org.call('POST', mcps, stdio())));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
    const { id } = (await org.call('POST', mcps, http())).body.environment_mcp;
    expect((await org.call('PATCH', `${mcps}/${id}`, { name: 'files' })).status).toBe(409);
    expect((await org.call('PATCH', `${mcps}/${id}`, { name: 'web' })).status).toBe(200);
    expect((await org.call('POST', await makePath(org), stdio())).status).toBe(201);
  });
});

describe('a bad request is refused and stores nothing', () => {
  const wrong: [string, unknown][] = [
    ['nothing', {}],
    ['not an object', '[]'],
    ['name missing', { transport: 'stdio', config: { command: 'a' } }],
    ['transport missing', { name: 'a', config: { command: 'a' } }],
    ['config missing', { name: 'a', transport: 'stdio' }],
    ['unknown transport', stdio({ transport: 'tcp' })],
    ['transport of another type', stdio({ transport: 1 })],
    ['config of another type', stdio({ config: 'npx' })],
    ['config of another transport', stdio({ config: { url: 'https://a.example.com' } })],
    ['config of both transports', http({ config: { url: 'https://a.example.com', command: 'npx' } })],
    ['NUL in config', stdio({ config: { command: 'a\0' } })],
    ['bad env key', stdio({ config: { command: 'a', env: { 'A B': '' } } })],
    ['line break in header', http({ config: { url: 'https://a.example.com', headers: { a: 'b\r\nc: d' } } })],
    ['other scheme', http({ config: { url: 'file:///etc/passwd' } })],
    ['large config', stdio({ config: { command: 'a', pad: 'a'.repeat(65_536) } })],
    ['prototype', '{"name":"a","transport":"stdio","config":{"command":"a","__proto__":{"x":1}}}'],
  ];
  test.each(wrong)('%s', async (_, body) => {
    const mcps = await makePath(org);
    expect((await org.call('POST', mcps, body)).status).toBe(400);
    expect((await org.call('GET', mcps)).body.environment_mcps).toEqual([]);
  });

  test('a config of 65,536 bytes of JSON is taken, a longer one is not', async () => {
    const mcps = await makePath(org);
    const config = (count: number) => ({ command: 'a', pad: `${'é'.repeat(32_756)}${'a'.repeat(count)}` });
    expect(Buffer.byteLength(JSON.stringify(config(0)))).toBe(65_536);
    expect((await org.call('POST', mcps, stdio({ config: config(1) }))).status).toBe(400);
    const made = await org.call('POST', mcps, stdio({ config: config(0) }));
    expect(made.body.environment_mcp.config).toEqual(config(0));
  });

  test('fields that are not known are ignored, also ones that name another owner', async () => {
    const mcps = await makePath(org);
    const sent = stdio({ id: newId(), organization_id: other.id, environmentId: newId(), extra: 1 });
    const made = await org.call('POST', mcps, sent);
    expect(made.status).toBe(201);
    expect(made.body.environment_mcp).toMatchObject({
      organization_id: org.id,
      environment_id: mcps.split('/')[3],
    });
    expect(made.body.environment_mcp).not.toHaveProperty('extra');
  });
});

test('an environment has at most 100 servers', async () => {
  const mcps = await makePath(org);
  const at = new Date();
  const rows = Array.from({ length: 100 }, (_, index) => ({
    id: newId(),
    organization_id: org.id,
    environment_id: mcps.split('/')[3] ?? '',
    name: `s${index}`,
    transport: 'stdio',
    config: Buffer.alloc(0),
    created_at: at,
    updated_at: at,
  }));
  await world.db.insertInto('environment_mcp').values(rows).execute();
  const answer = await org.call('POST', mcps, stdio());
  expect(answer.status).toBe(409);
  expect(answer.headers.get('x-service-error-code')).toBe('limit_reached');
});

test('what belongs to another organization, to another environment or to nobody is 404', async () => {
  const [mine, second, theirs] = [await makePath(org), await makePath(org), await makePath(other)];
  const { id } = (await org.call('POST', mine, stdio())).body.environment_mcp;
  const places: [Organization, string][] = [
    [other, `${mine}/${id}`],
    [other, `${theirs}/${id}`],
    [other, `/v1/environments/global/mcps/${id}`],
    [org, `${second}/${id}`],
    [org, `${mine}/${newId()}`],
    [org, `${mine}/nothing`],
  ];
  for (const [caller, place] of places) {
    expect((await caller.call('GET', place)).status).toBe(404);
    expect((await caller.call('PATCH', place, { name: 'x' })).status).toBe(404);
    expect((await caller.call('DELETE', place)).status).toBe(404);
  }
  expect((await other.call('GET', mine)).status).toBe(404);
  expect((await other.call('POST', mine, stdio({ name: 'x' }))).status).toBe(404);
  expect((await org.call('GET', mine)).body.environment_mcps).toHaveLength(1);
  expect((await world.call('GET', mine)).status).toBe(401);
});

async function makePath(owner: Organization): Promise<string> {
  const { body } = await owner.call('POST', '/v1/environments', { name: newId() });
  return `/v1/environments/${body.environment.id}/mcps`;
}
