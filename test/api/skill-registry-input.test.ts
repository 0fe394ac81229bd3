import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Files } from '../world/git-host.ts';
import { type RegistryWorld, registriesOf, skillFile, startRegistryWorld } from '../world/skill-registry.ts';
import { startWorld } from '../world/world.ts';

const absent = '01890000-0000-7000-8000-000000000000';

let here: RegistryWorld;

beforeAll(async () => {
  here = await startRegistryWorld();
});
afterAll(() => here?.close());

describe('what lies in a registry', () => {
  const long = 'x'.repeat(65_536);

  test.each<[string, Files, { name: string; description: string }[]]>([
    [
      'a file of 64 KiB is read',
      { 'a/SKILL.md': skillFile('big', 'd').padEnd(65_536, '.') },
      [{ name: 'big', description: 'd' }],
    ],
    [
      'a larger one keeps the name of its folder',
      { 'a/SKILL.md': `${skillFile('big', 'd')}${long}` },
      [{ name: 'a', description: '' }],
    ],
    [
      'no front matter',
      { 'a/SKILL.md': '# Title\n\nFirst words.' },
      [{ name: 'a', description: 'First words.' }],
    ],
    [
      'broken front matter',
      { 'a/SKILL.md': '---\nname: [\n---\nText' },
      [{ name: '[', description: 'Text' }],
    ],
    ['a link to a file of the machine', { 'a/SKILL.md': { link: '/etc/passwd' } }, []],
    [
      'a link to a skill',
      { 'a/SKILL.md': { link: '../b/SKILL.md' }, 'b/SKILL.md': skillFile('b', 'B.') },
      [{ name: 'b', description: 'B.' }],
    ],
    [
      'control characters',
      { 'a/SKILL.md': '---\nname: "a\\u0000b"\n---\n\u001b[31mred' },
      [{ name: 'a b', description: '[31mred' }],
    ],
    ['odd names of folders', { 'a b/%2e%2e/"q"/ü\n/SKILL.md': 'x' }, [{ name: 'ü', description: 'x' }]],
    [
      'the repository as one skill',
      { 'SKILL.md': 'Whole.' },
      [{ name: expect.stringMatching(/^skills-/), description: 'Whole.' }],
    ],
  ])('%s', async (_, files, expected) => {
    const made = await here.addRegistry(await here.makeEnvironment(), (await here.makeRepository(files)).url);
    expect(made.body.error).toBeNull();
    expect(made.body.repo_skills).toMatchObject(expected);
    expect(made.body.repo_skills).toHaveLength(expected.length);
  });

  test('bytes that are no text do no harm', async () => {
    const { name, url } = await here.makeRepository({ 'README.md': 'x' });
    const bytes = Buffer.from([0, 255, 254, 0x2d, 0x2d, 0x2d, 10, 192, 128, 0xed, 0xa0, 0x80]);
    const before = 'commit refs/heads/main\ncommitter T <t@example.com> now\ndata 1\nx\n';
    const file = Buffer.concat([Buffer.from(`M 100644 inline bin/SKILL.md\ndata ${bytes.length}\n`), bytes]);
    await here.host.git(
      name,
      ['fast-import', '--quiet', '--force', '--date-format=now'],
      Buffer.concat([Buffer.from(before), file, Buffer.from('\n\ndone\n')]),
    );
    const made = await here.addRegistry(await here.makeEnvironment(), url);
    expect(made.body).toMatchObject({ error: null, repo_skills: [{ name: 'bin', path: 'bin/SKILL.md' }] });
  });
});

describe('a registry that is refused', () => {
  test.each([
    ['no URL', undefined],
    ['null', null],
    ['a number', 5],
    ['a list', ['https://example.com/a/b']],
    ['an empty text', ''],
    ['no URL at all', 'acme/tools'],
    ['an SSH address', 'git@example.com:a/b.git'],
    ['another scheme', 'ssh://example.com/a/b'],
    ['a script', 'ext::sh -c id'],
    ['an option', '--upload-pack=id'],
    ['a password', 'https://user:secret@example.com/a/b'],
    ['a query', 'https://example.com/a/b?x=y'],
    ['no repository', 'https://example.com/'],
    ['a blank', 'https://example.com/a b'],
    ['a NUL', 'https://example.com/a\0b'],
    ['a lone surrogate', 'https://example.com/\ud800'],
    ['2,049 characters', `https://example.com/${'x'.repeat(2_029)}`],
    ['too many characters once they are encoded', `https://example.com/${'漢'.repeat(300)}`],
  ])('has %s', async (_, url) => {
    const id = await here.makeEnvironment();
    const refused = await here.addRegistry(id, url);
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.body)).not.toContain('secret');
    expect(await here.listRegistries(id)).toEqual([]);
  });

  test('names a private address where the operator does not allow it', async () => {
    const closed = await startWorld();
    try {
      const { call } = await closed.org();
      for (const url of [
        here.host.url('x'),
        here.host.fileUrl('x'),
        'https://127.0.0.1/a/b',
        'https://localhost/a/b',
      ]) {
        expect((await call('POST', registriesOf('global'), { url })).status).toBe(400);
      }
    } finally {
      await closed.close();
    }
  });

  test('is one more than 20', async () => {
    const id = await here.makeEnvironment();
    const at = new Date();
    const rows = Array.from({ length: 20 }, (_, number) => ({
      id: crypto.randomUUID(),
      organization_id: here.org.id,
      environment_id: id,
      name: 'x',
      url: `https://example.com/a/${number}`,
      url_key: `https://example.com/a/${number}`,
      repository_full_name: `a/${number}`,
      scanned_at: at,
      created_at: at,
      updated_at: at,
    }));
    await here.world.db.insertInto('skill_registry').values(rows).execute();
    const refused = await here.addRegistry(id, (await here.makeRepository()).url);
    expect(refused.status).toBe(409);
    expect(refused.headers.get('x-service-error-code')).toBe('limit_reached');
  });

  test('belongs to somebody else, or is not there', async () => {
    const other = await here.world.org();
    const foreign = await here.makeEnvironment(other);
    const { registry } = (await here.addRegistry(foreign, (await here.makeRepository()).url, other)).body;
    const own = await here.makeEnvironment();
    for (const [method, path] of [
      ['GET', registriesOf(foreign)],
      ['GET', registriesOf(absent)],
      ['GET', registriesOf('nonsense')],
      ['POST', registriesOf(foreign)],
      ['DELETE', `${registriesOf(foreign)}/${registry.id}`],
      ['DELETE', `${registriesOf(own)}/${registry.id}`],
      ['DELETE', `${registriesOf(own)}/${absent}`],
      ['DELETE', `${registriesOf(own)}/nonsense`],
      ['GET', `/v1/environments/${foreign}/repo-skills`],
      ['GET', `/v1/environments/${absent}/repo-skills`],
    ] as const) {
      const body = method === 'POST' ? { url: 'https://example.com/a/b' } : undefined;
      expect((await here.org.call(method, path, body)).status, `${method} ${path}`).toBe(404);
      expect((await here.world.call(method, path, body)).status, `${method} ${path} without a key`).toBe(401);
    }
    expect((await other.call('GET', registriesOf(foreign))).body.registries).toEqual([registry]);
  });
});
