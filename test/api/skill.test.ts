import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type SkillCatalogStandIn, startSkillCatalog } from '../world/skill-catalog.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';

const pdf = {
  name: 'PDF',
  slug: 'acme/tools/pdf',
  source: 'https://catalog.example/acme/tools/pdf',
  installs: 7,
};
const absent = '01890000-0000-7000-8000-000000000000';

let catalog: SkillCatalogStandIn;
let world: World;
let org: Organization;

beforeAll(async () => {
  const json = (body: unknown) => JSON.stringify(body);
  catalog = await startSkillCatalog({
    pdf: (response) =>
      response.end(json({ query: 'pdf', skills: [pdf, { name: 'no slug' }, null], count: 3 })),
    list: (response) => response.end(json([pdf])),
    'a&b=c #ü': (response) => response.end(json({ skills: [pdf] })),
    many: (response) =>
      response.end(json({ skills: Array.from({ length: 80 }, (_, at) => ({ ...pdf, slug: `s${at}` })) })),
    'just small enough': (response) => response.end(json([pdf]).padEnd(1_048_576, ' ')),
    silent: () => {},
    trickling: (response) => {
      response.write('{"skills":[');
      const timer = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(timer));
    },
    huge: (response) => response.end(json([pdf]).padEnd(1_048_577, ' ')),
    broken: (response) => response.writeHead(500).end('{"skills":[]}'),
    absent: (response) => response.writeHead(404).end('{"skills":[]}'),
    'no JSON': (response) => response.end('<html>maintenance</html>'),
    'no list': (response) => response.end('{"message":"hello"}'),
    cut: (response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{"skills":[');
      setImmediate(() => response.destroy());
    },
    'hung up': (response) => response.destroy(),
    moved: (response, base) => response.writeHead(307, { location: `${base}/pdf` }).end(),
    'moved for ever': (response) =>
      response.writeHead(302, { location: '/api/search?q=moved+for+ever' }).end(),
    'moved to a file': (response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  });
  world = await startWorld({ environment: catalogSettings(catalog.url) });
  org = await world.org();
});

afterAll(async () => {
  await world?.close();
  await catalog?.close();
});

const catalogSettings = (url: string) => ({
  REPLICA_SKILL_CATALOG_URL: url,
  REPLICA_SKILL_CATALOG_TIMEOUT_MS: '1000',
});

describe('the skills of an environment', () => {
  const body = { name: 'PDF', slug: 'acme/tools/pdf', source: 'https://catalog.example/acme/tools/pdf' };

  async function makeEnvironment(of: Organization = org): Promise<string> {
    const { body } = await of.call('POST', '/v1/environments', { name: crypto.randomUUID() });
    return body.environment.id;
  }

  async function generation(environmentId: string): Promise<number> {
    const row = await world.db
      .selectFrom('warm_pool')
      .select('generation')
      .where('environment_id', '=', environmentId)
      .executeTakeFirstOrThrow();
    return row.generation;
  }

  test('a skill is enabled, listed, counted and disabled again', async () => {
    const id = await makeEnvironment();
    const made = await org.call('POST', `/v1/environments/${id}/skills`, body);
    expect(made.status).toBe(201);
    expect(made.body.environment_skill).toMatchObject({
      ...body,
      organization_id: org.id,
      environment_id: id,
    });

    const listed = await org.call('GET', `/v1/environments/${id}/skills`);
    expect(listed).toMatchObject({
      status: 200,
      body: { environment_skills: [made.body.environment_skill] },
    });
    const environment = await org.call('GET', `/v1/environments/${id}`);
    expect(environment.body.environment.skill_count).toBe(1);

    const path = `/v1/environments/${id}/skills/${made.body.environment_skill.id}`;
    expect(await org.call('DELETE', path)).toMatchObject({ status: 200, body: { success: true } });
    expect((await org.call('DELETE', path)).status).toBe(404);
    expect((await org.call('GET', `/v1/environments/${id}/skills`)).body.environment_skills).toEqual([]);
  });

  test('enabling and disabling each make warm workspaces stale, a refusal does not', async () => {
    const id = await makeEnvironment();
    const before = await generation(id);
    const made = await org.call('POST', `/v1/environments/${id}/skills`, body);
    expect(await generation(id)).toBe(before + 1);
    expect((await org.call('POST', `/v1/environments/${id}/skills`, body)).status).toBe(409);
    expect(await generation(id)).toBe(before + 1);
    await org.call('DELETE', `/v1/environments/${id}/skills/${made.body.environment_skill.id}`);
    expect(await generation(id)).toBe(before + 2);
  });

  test.each([
    ['slug', { ...body, source: 'https://catalog.example/other' }, /slug/],
    ['source', { ...body, slug: 'other' }, /source/],
  ])('the same %s again is a 409', async (_, second, sentence) => {
    const id = await makeEnvironment();
    await org.call('POST', `/v1/environments/${id}/skills`, body);
    const refused = await org.call('POST', `/v1/environments/${id}/skills`, second);
    expect(refused.status).toBe(409);
    expect(refused.headers.get('x-service-error-code')).toBe('already_exists');
    expect(refused.body.error).toMatch(sentence);
    expect((await org.call('GET', `/v1/environments/${id}/skills`)).body.environment_skills).toHaveLength(1);
  });

  test('another environment may enable the same skill', async () => {
    for (const id of [await makeEnvironment(), await makeEnvironment(), 'global']) {
      expect((await org.call('POST', `/v1/environments/${id}/skills`, body)).status).toBe(201);
    }
  });

  test('of many equal requests at once one enables the skill and the others get 409', async () => {
    const id = await makeEnvironment();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => org.call('POST', `/v1/environments/${id}/skills`, body)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
  });

  test('an environment has at most 500 skills', async () => {
    const id = await makeEnvironment();
    const at = new Date();
    const rows = Array.from({ length: 500 }, (_, number) => ({
      id: crypto.randomUUID(),
      organization_id: org.id,
      environment_id: id,
      name: 'x',
      slug: `s${number}`,
      source: `https://catalog.example/${number}`,
      created_at: at,
      updated_at: at,
    }));
    await world.db.insertInto('environment_skill').values(rows).execute();
    const refused = await org.call('POST', `/v1/environments/${id}/skills`, body);
    expect(refused.status).toBe(409);
    expect(refused.headers.get('x-service-error-code')).toBe('limit_reached');
  });

  const longSource = (bytes: number, filler = 'x') => {
    const start = 'https://catalog.example/';
    return start + filler.repeat((bytes - start.length) / Buffer.byteLength(filler));
  };

  test.each([
    ['a name of 200 characters', { name: '漢'.repeat(200) }],
    ['a slug of 255 characters', { slug: 's'.repeat(255) }],
    ['a slug with every kind of character', { slug: 'Aa0._-/b' }],
    ['a slug with dots inside', { slug: 'v1.2..3/.hidden' }],
    ['a source of 2,048 bytes', { source: longSource(2_048) }],
    ['a source of 2,048 bytes in wide characters', { source: longSource(2_048, '😀') }],
    ['a plain http source with a port', { source: 'http://catalog.example:8080/x?y=1#z' }],
    ['an unknown field', { installs: 5 }],
  ])('%s is taken', async (_, changes) => {
    const id = await makeEnvironment();
    expect((await org.call('POST', `/v1/environments/${id}/skills`, { ...body, ...changes })).status).toBe(
      201,
    );
  });

  test.each([
    ['no name', { name: undefined }],
    ['no slug', { slug: undefined }],
    ['no source', { source: undefined }],
    ['a name that is a number', { name: 5 }],
    ['a name that is null', { name: null }],
    ['an empty name', { name: '' }],
    ['a name of blanks', { name: '  ' }],
    ['a name of 201 characters', { name: 'x'.repeat(201) }],
    ['a NUL in the name', { name: 'a\0' }],
    ['a lone surrogate in the name', { name: '\ud800' }],
    ['a slug that is a list', { slug: ['a'] }],
    ['an empty slug', { slug: '' }],
    ['a slug of 256 characters', { slug: 's'.repeat(256) }],
    ['a slug with a blank', { slug: 'a b' }],
    ['a slug with a line end', { slug: 'a\n' }],
    ['a slug with a NUL', { slug: 'a\0' }],
    ['a slug that climbs', { slug: '../a' }],
    ['a slug that climbs inside', { slug: 'a/../b' }],
    ['a slug that is a dot', { slug: '.' }],
    ['an absolute slug', { slug: '/etc' }],
    ['a slug that ends with a slash', { slug: 'a/' }],
    ['a slug with an empty part', { slug: 'a//b' }],
    ['a slug with a backslash', { slug: 'a\\b' }],
    ['a source that is an object', { source: {} }],
    ['a source that is no URL', { source: 'acme/tools' }],
    ['a source of another scheme', { source: 'ftp://catalog.example/x' }],
    ['a source that is a script', { source: 'javascript:alert(1)' }],
    ['a source that is a file', { source: 'file:///etc/passwd' }],
    ['a source with a password', { source: 'https://a:b@catalog.example/' }],
    ['a source with a user name', { source: 'https://a@catalog.example/' }],
    ['a source without slashes', { source: 'https:catalog.example' }],
    ['a source with a blank', { source: 'https://catalog.example/a b' }],
    ['a source with a NUL', { source: 'https://catalog.example/\0' }],
    ['a source of 2,049 bytes', { source: longSource(2_049) }],
    ['a source of 2,052 bytes in wide characters', { source: longSource(2_052, '😀') }],
  ])('%s is a 400 and nothing is stored', async (_, changes) => {
    const id = await makeEnvironment();
    const refused = await org.call('POST', `/v1/environments/${id}/skills`, { ...body, ...changes });
    expect(refused.status).toBe(400);
    expect((await org.call('GET', `/v1/environments/${id}/skills`)).body.environment_skills).toEqual([]);
  });

  test('what another organization has is not there', async () => {
    const other = await world.org();
    const foreign = await makeEnvironment(other);
    const skill = (await other.call('POST', `/v1/environments/${foreign}/skills`, body)).body
      .environment_skill;
    const own = await makeEnvironment();
    expect((await org.call('GET', `/v1/environments/${foreign}/skills`)).status).toBe(404);
    expect((await org.call('POST', `/v1/environments/${foreign}/skills`, body)).status).toBe(404);
    expect((await org.call('DELETE', `/v1/environments/${foreign}/skills/${skill.id}`)).status).toBe(404);
    expect((await org.call('DELETE', `/v1/environments/${own}/skills/${skill.id}`)).status).toBe(404);
    expect((await other.call('GET', `/v1/environments/${foreign}/skills`)).body.environment_skills).toEqual([
      skill,
    ]);
  });

  test.each([
    ['GET', `/v1/environments/${absent}/skills`],
    ['GET', '/v1/environments/nonsense/skills'],
    ['DELETE', `/v1/environments/global/skills/${absent}`],
    ['DELETE', '/v1/environments/global/skills/nonsense'],
  ])('%s %s is a 404', async (method, path) => {
    expect((await org.call(method, path)).status).toBe(404);
  });

  test('without a key nothing is answered', async () => {
    for (const [method, path] of [
      ['GET', '/v1/environments/global/skills'],
      ['POST', '/v1/environments/global/skills'],
      ['DELETE', `/v1/environments/global/skills/${absent}`],
      ['GET', '/v1/environment-skills/search?q=pdf'],
    ] as const) {
      expect((await world.call(method, path, method === 'POST' ? body : undefined)).status).toBe(401);
    }
  });
});

describe('the search in the catalog', () => {
  const search = (query: string) =>
    org.call('GET', `/v1/environment-skills/search?q=${encodeURIComponent(query)}`);

  test('what the catalog knows is answered, without what cannot be enabled', async () => {
    expect(await search('pdf')).toMatchObject({ status: 200, body: { skills: [pdf] } });
    expect(await search('list')).toMatchObject({ status: 200, body: { skills: [pdf] } });
  });

  test('what is found can be enabled as it is', async () => {
    const [skill] = (await search('pdf')).body.skills;
    const { body } = await org.call('POST', '/v1/environments', { name: 'from the catalog' });
    expect((await org.call('POST', `/v1/environments/${body.environment.id}/skills`, skill)).status).toBe(
      201,
    );
  });

  test('the query reaches the catalog as it was typed, with a limit', async () => {
    expect((await search('a&b=c #ü')).body.skills).toEqual([pdf]);
    expect(catalog.requests).toContain('/api/search?q=a%26b%3Dc+%23%C3%BC&limit=50');
  });

  test('at most 50 skills are answered', async () => {
    expect((await search('many')).body.skills).toHaveLength(50);
  });

  test('an answer of 1 MiB is still read', async () => {
    expect((await search('just small enough')).body.skills).toEqual([pdf]);
  });

  test.each([
    ['does not answer', 'silent', /did not answer within 1000 ms/],
    ['never stops answering', 'trickling', /did not answer within 1000 ms/],
    ['answers more than 1 MiB', 'huge', /more than 1,048,576 bytes/],
    ['answers with a 500', 'broken', /HTTP status 500/],
    ['answers with a 404', 'absent', /HTTP status 404/],
    ['answers with no JSON', 'no JSON', /not a list of skills/],
    ['answers with no list', 'no list', /not a list of skills/],
    ['ends in the middle', 'cut', /cannot be reached/],
    ['hangs up', 'hung up', /cannot be reached/],
    ['redirects to a file', 'moved to a file', /HTTP status 302/],
  ])('a catalog that %s is a 502 with a sentence', async (_, query, sentence) => {
    const answer = await search(query);
    expect(answer.status).toBe(502);
    expect(answer.headers.get('x-service-error-code')).toBe('upstream_unavailable');
    expect(answer.body.error).toMatch(sentence);
  });

  test('a catalog that is not there is a 502', async () => {
    const lonely = await startWorld({ environment: catalogSettings('http://127.0.0.1:1/') });
    try {
      const { call } = await lonely.org();
      const answer = await call('GET', '/v1/environment-skills/search?q=pdf');
      expect(answer.status).toBe(502);
      expect(answer.body.error).toMatch(/cannot be reached/);
    } finally {
      await lonely.close();
    }
  });

  test('a redirect of the catalog is not followed to a private address', async () => {
    const before = catalog.requests.length;
    expect((await search('moved')).status).toBe(502);
    expect((await search('moved for ever')).status).toBe(502);
    expect(catalog.requests.slice(before).map((path) => path.split('&')[0])).toEqual([
      '/api/search?q=moved',
      '/api/search?q=moved+for+ever',
    ]);
  });

  test('a redirect is followed where the operator allows private targets, but not for ever', async () => {
    const settings = { ...catalogSettings(catalog.url), REPLICA_ALLOW_PRIVATE_TARGETS: 'true' };
    const open = await startWorld({ environment: settings });
    try {
      const { call } = await open.org();
      expect((await call('GET', '/v1/environment-skills/search?q=moved')).body).toEqual({ skills: [pdf] });
      const endless = await call('GET', '/v1/environment-skills/search?q=moved+for+ever');
      expect(endless).toMatchObject({ status: 502, body: { error: expect.stringMatching(/redirects/) } });
    } finally {
      await open.close();
    }
  });

  test.each([
    ['no query', ''],
    ['an empty query', '?q='],
    ['a query of blanks', '?q=%20'],
    ['a query twice', '?q=a&q=b'],
    ['a query of 201 characters', `?q=${'x'.repeat(201)}`],
    ['a query with a NUL', '?q=a%00'],
  ])('%s is a 400', async (_, query) => {
    expect((await org.call('GET', `/v1/environment-skills/search${query}`)).status).toBe(400);
  });

  test('a query of 200 characters is asked', async () => {
    expect((await search('x'.repeat(200))).status).toBe(502);
    expect(catalog.requests.at(-1)).toContain('x'.repeat(200));
  });
});
