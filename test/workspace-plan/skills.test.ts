import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WorkspacePlan } from '../../src/workspace-plan/plan.ts';
import { type RegistryWorld, skillFile, startRegistryWorld, twoSkills } from '../world/skill-registry.ts';
import type { Organization } from '../world/world.ts';
import { type Planner, startPlanner } from './planner.ts';

let here: RegistryWorld;
let planner: Planner;

beforeAll(async () => {
  here = await startRegistryWorld();
  planner = await startPlanner(here.world, { repositoryHost: here.host.url('owned') });
});
afterAll(async () => {
  await planner?.close();
  await here?.close();
});

/** Slug and path to text. */
const contentsOf = ({ skills }: WorkspacePlan) =>
  Object.fromEntries(
    skills.flatMap(({ slug, files }) =>
      files.map(({ path, contentBase64 }) => [
        `${slug}/${path}`,
        Buffer.from(contentBase64, 'base64').toString(),
      ]),
    ),
  );
const slugsOf = ({ skills }: WorkspacePlan) => skills.map(({ slug }) => slug);
const compose = (environmentId: string, of: Organization = here.org) => planner.compose(of.id, environmentId);

async function enable(environmentId: string, skill: object, of: Organization = here.org): Promise<void> {
  const answer = await of.call('POST', `/v1/environments/${environmentId}/skills`, { name: 'Any', ...skill });
  expect(answer.status).toBe(201);
}

describe('skills of a registry', () => {
  test('are whole folders under the name they give themselves', async () => {
    const id = await here.makeEnvironment();
    await here.addRegistry(id, (await here.makeRepository()).url);
    const plan = await compose(id);
    expect(contentsOf(plan)).toEqual({
      'csv/SKILL.md': skillFile('csv', 'Reads CSVs.'),
      'pdf-tools/SKILL.md': skillFile('pdf-tools', 'Reads PDFs.'),
      'pdf-tools/run.sh': 'exit 1',
    });
    expect(plan.problems).toEqual([]);
  });

  test('are read from git once while the registry stands where it stood', async () => {
    const id = await here.makeEnvironment();
    const { name, url } = await here.makeRepository();
    const { registry } = (await here.addRegistry(id, url)).body;
    const first = await compose(id);
    const asked = () => here.host.requests.filter((line) => line.includes(`/${name}/`)).length;
    const before = asked();
    expect(await compose(id)).toEqual(first);
    expect(asked()).toBe(before);

    await here.host.commit(name, { 'pdf/SKILL.md': skillFile('pdf-tools', 'New.'), 'pdf/run.sh': 'exit 2' });
    await here.rescan(registry.id);
    expect(contentsOf(await compose(id))['pdf-tools/run.sh']).toBe('exit 2');
    expect(asked()).toBeGreaterThan(before);
  });

  test('that are newer than what the last scan saw are not read again', async () => {
    const id = await here.makeEnvironment();
    const { name, url } = await here.makeRepository();
    await here.addRegistry(id, url);
    await here.host.commit(name, { 'pdf/run.sh': 'exit 3' });
    expect(contentsOf(await compose(id))['pdf-tools/run.sh']).toBe('exit 3');
    const asked = here.host.requests.length;
    await compose(id);
    expect(here.host.requests.length).toBe(asked);
  });

  test('of a repository that needs the credential of the organization are read with it', async () => {
    const own = await here.world.org();
    const auth = { username: 'bot', password: 'hunter2' };
    const { url, name } = await here.makeRepository(twoSkills, { auth });
    const { body } = await own.call('POST', '/v1/repository-credentials', {
      name: 'bot',
      username: auth.username,
      token: auth.password,
    });
    await own.call('POST', '/v1/repositories', { name, url, credential_id: body.credential.id });
    const id = await here.makeEnvironment(own);
    await here.addRegistry(id, url, own);
    expect(slugsOf(await compose(id, own))).toEqual(['csv', 'pdf-tools']);

    const other = await here.world.org();
    const foreign = await here.makeEnvironment(other);
    await here.addRegistry(foreign, url, other);
    const plan = await compose(foreign, other);
    expect(plan.skills).toEqual([]);
    expect(plan.problems).toEqual([
      expect.stringContaining(`The skills of the registry ${name} are missing: `),
    ]);
  });

  test('of the Global environment give way to those of the environment', async () => {
    const own = await here.world.org();
    const id = await here.makeEnvironment(own);
    const low = await here.makeRepository({
      'a/SKILL.md': skillFile('pdf-tools', 'Low.'),
      'b/SKILL.md': skillFile('word', 'Low.'),
    });
    await here.addRegistry('global', low.url, own);
    await here.addRegistry(id, (await here.makeRepository()).url, own);
    const plan = await compose(id, own);
    expect(slugsOf(plan)).toEqual(['csv', 'pdf-tools', 'word']);
    expect(contentsOf(plan)['pdf-tools/SKILL.md']).toContain('Reads PDFs.');
    expect(plan.problems).toEqual([]);
  });

  test('that are too large or twice there are left out with a problem', async () => {
    const id = await here.makeEnvironment();
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`many/f${at}`, 'x']));
    const { name, url } = await here.makeRepository({
      ...many,
      'many/SKILL.md': skillFile('many', 'Too many files.'),
      'heavy/SKILL.md': skillFile('heavy', 'Too heavy.'),
      'heavy/data': 'x'.repeat(2 * 1_048_576),
      'one/SKILL.md': skillFile('same', 'First.'),
      'two/SKILL.md': skillFile('same', 'Second.'),
      'one/link': { link: '/etc/passwd' },
    });
    await here.addRegistry(id, url);
    const plan = await compose(id);
    expect(contentsOf(plan)).toEqual({ 'same/SKILL.md': skillFile('same', 'First.') });
    expect(plan.problems).toEqual([
      `Of the registry ${name}, "heavy" is left out: it holds more than 2 MiB.`,
      `Of the registry ${name}, "many" is left out: it has more than 200 files.`,
      `Of the registry ${name}, "same" is left out, because another skill of the environment has the same name.`,
    ]);
  });
});

describe('skills of the catalog', () => {
  test('are found in their repository by slug, by name, by folder, or as the only one', async () => {
    const { url } = await here.makeRepository({
      'skills/pdf/SKILL.md': skillFile('something', 'By slug.'),
      'skills/x/SKILL.md': skillFile('Comma Tables', 'By name.'),
      'deep/y/SKILL.md': skillFile('y', 'By folder.'),
    });
    const only = await here.makeRepository({ 'SKILL.md': skillFile('odd', 'The only one.') });
    await here.host.createRepository('pages/tools', {
      'deep/y/SKILL.md': skillFile('y', 'By folder.'),
      'z/SKILL.md': skillFile('z', 'Another.'),
    });
    const id = await here.makeEnvironment();
    await enable(id, { slug: 'acme/tools/pdf', source: url });
    await enable(id, { slug: 'tables', name: 'comma tables', source: `${url}/` });
    await enable(id, { slug: 'renamed', source: only.url });
    await enable(id, { slug: 'paged', source: `${here.host.url('pages/tools')}/tree/main/deep/y` });
    const plan = await compose(id);
    expect(plan.problems).toEqual([]);
    expect(contentsOf(plan)).toEqual({
      'paged/SKILL.md': skillFile('y', 'By folder.'),
      'pdf/SKILL.md': skillFile('something', 'By slug.'),
      'renamed/SKILL.md': skillFile('odd', 'The only one.'),
      'tables/SKILL.md': skillFile('Comma Tables', 'By name.'),
    });
  });

  test('that are known by a page of the catalog lie at the host of its repositories', async () => {
    await here.host.createRepository('owned/acme/tools', twoSkills);
    const id = await here.makeEnvironment();
    await enable(id, { slug: 'acme/tools/csv', source: 'https://catalog.example/acme/tools/csv' });
    expect(contentsOf(await compose(id))).toEqual({ 'csv/SKILL.md': skillFile('csv', 'Reads CSVs.') });
  });

  test('are read again only after a while, and never in the way', async () => {
    let clock = Date.now();
    const patient = await startPlanner(here.world, { now: () => new Date(clock) });
    const { name, url } = await here.makeRepository();
    const id = await here.makeEnvironment();
    await enable(id, { slug: 'pdf', source: url });
    const read = async () => contentsOf(await patient.compose(here.org.id, id))['pdf/run.sh'];
    expect(await read()).toBe('exit 1');
    await here.host.commit(name, { 'pdf/run.sh': 'exit 2' });
    const asked = here.host.requests.length;
    expect(await read()).toBe('exit 1');
    expect(here.host.requests.length).toBe(asked);
    clock += 15 * 60_000;
    expect(await read()).toBe('exit 1');
    await expect.poll(read, { timeout: 30_000 }).toBe('exit 2');
    await patient.close();
  });

  test('that cannot be had are a problem each, and the others are there', async () => {
    const { name, url } = await here.makeRepository();
    const id = await here.makeEnvironment();
    await enable(id, { name: 'Absent', slug: 'absent', source: url });
    await enable(id, {
      name: 'Here',
      slug: 'csv',
      source: here.host.fileUrl(name).replace('file://', 'http://no.invalid'),
    });
    await enable(id, { name: 'Page', slug: 'page', source: 'https://catalog.example/' });
    await enable(id, { name: 'Query', slug: 'query', source: `${url}?a=b` });
    await here.addRegistry(id, url);
    const plan = await compose(id);
    expect(slugsOf(plan)).toEqual(['csv', 'pdf-tools']);
    expect(plan.problems.toSorted()).toEqual([
      'The skill "Absent" is left out: its repository has no folder with a SKILL.md of that name.',
      'The skill "Page" is left out: its source names no git repository.',
      'The skill "Query" is left out: The git URL must not contain a query or a fragment.',
      expect.stringMatching(/^The skills "Here" are missing: .+\.$/),
    ]);
  });
});

test('a plan of usual size is made fast when its skills are on the shelf', async () => {
  const own = await here.world.org();
  const { url } = await here.makeRepository();
  const registry = await here.makeRepository({ 'word/SKILL.md': skillFile('word', 'Words.') });
  const id = await here.makeEnvironment(own);
  const attach = (what: string, body: object) => own.call('POST', `/v1/environments/${id}/${what}`, body);
  for (let at = 0; at < 20; at++) await attach('variables', { key: `KEY_${at}`, value: 'x'.repeat(50) });
  for (let at = 0; at < 5; at++)
    await attach('files', { name: 'f', path: `~/f${at}`, content: 'x'.repeat(2_000) });
  for (let at = 0; at < 2; at++)
    await attach('mcps', { name: `m${at}`, transport: 'http', config: { url: 'https://mcp.example' } });
  await enable(id, { slug: 'pdf', source: url }, own);
  await here.addRegistry(id, registry.url, own);
  expect((await compose(id, own)).problems).toEqual([]);
  const asked = here.host.requests.length;
  const times: number[] = [];
  for (let round = 0; round < 20; round++) {
    const startedAt = performance.now();
    await compose(id, own);
    times.push(performance.now() - startedAt);
  }
  expect(here.host.requests.length).toBe(asked);
  // Far above the few milliseconds it takes, so that a busy machine is no failure.
  expect(Math.min(...times)).toBeLessThan(50);
});
