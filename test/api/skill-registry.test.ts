import { once } from 'node:events';
import { rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { enqueue } from '../../src/work/enqueue.ts';
import {
  type RegistryWorld,
  registriesOf,
  skillFile,
  startRegistryWorld,
  twoSkills,
} from '../world/skill-registry.ts';
import { startWorld } from '../world/world.ts';

let here: RegistryWorld;

beforeAll(async () => {
  here = await startRegistryWorld();
});
afterAll(() => here?.close());

describe('a skill registry', () => {
  test('is scanned when it is added, and listed with what was found', async () => {
    const id = await here.makeEnvironment();
    const { name, url } = await here.makeRepository();
    const made = await here.addRegistry(id, url);
    expect(made.status).toBe(200);
    const { registry, repo_skills, error } = made.body;
    expect(error).toBeNull();
    expect(registry).toMatchObject({
      organization_id: here.org.id,
      environment_id: id,
      name,
      url,
      repository_full_name: name,
      default_branch: 'main',
      error: null,
      repo_skills,
    });
    const common = { repository_id: registry.id, repository_full_name: name, branch: 'main', html_url: url };
    expect(repo_skills).toEqual([
      {
        id: `${registry.id}:deep/er/csv/SKILL.md`,
        path: 'deep/er/csv/SKILL.md',
        name: 'csv',
        description: 'Reads CSVs.',
        ...common,
      },
      {
        id: `${registry.id}:pdf/SKILL.md`,
        path: 'pdf/SKILL.md',
        name: 'pdf-tools',
        description: 'Reads PDFs.',
        ...common,
      },
    ]);
    expect(await here.listRegistries(id)).toEqual([registry]);
  });

  test('is removed once', async () => {
    const id = await here.makeEnvironment();
    const { registry } = (await here.addRegistry(id, (await here.makeRepository()).url)).body;
    const path = `${registriesOf(id)}/${registry.id}`;
    expect(await here.org.call('DELETE', path)).toMatchObject({ status: 200, body: { success: true } });
    expect((await here.org.call('DELETE', path)).status).toBe(404);
    expect(await here.listRegistries(id)).toEqual([]);
  });

  test('makes warm workspaces stale when it is added and removed', async () => {
    const id = await here.makeEnvironment();
    const before = await here.generation(id);
    const { registry } = (await here.addRegistry(id, (await here.makeRepository()).url)).body;
    const added = await here.generation(id);
    expect(added).toBeGreaterThan(before);
    await here.org.call('DELETE', `${registriesOf(id)}/${registry.id}`);
    expect(await here.generation(id)).toBe(added + 1);
  });

  test('of the Global environment makes the workspaces of every environment stale', async () => {
    const own = await here.world.org();
    const id = await here.makeEnvironment(own);
    const before = await here.generation(id);
    await here.addRegistry('global', (await here.makeRepository()).url, own);
    expect(await here.generation(id)).toBeGreaterThan(before);
  });

  test('is there once in an environment, however its URL is spelled', async () => {
    const id = await here.makeEnvironment();
    await here.host.createRepository('spelled.git', twoSkills);
    const url = here.host.url('spelled.git');
    expect((await here.addRegistry(id, url)).status).toBe(200);
    for (const spelling of [url, url.replace(/\.git$/, ''), `${url}/`, url.replace('http:', 'HTTP:')]) {
      const refused = await here.addRegistry(id, spelling);
      expect(refused.status).toBe(409);
      expect(refused.headers.get('x-service-error-code')).toBe('already_exists');
    }
    expect((await here.addRegistry(await here.makeEnvironment(), url)).status).toBe(200);
  });

  test('is added once by many equal requests at the same time', async () => {
    const id = await here.makeEnvironment();
    const { url } = await here.makeRepository();
    const answers = await Promise.all(Array.from({ length: 6 }, () => here.addRegistry(id, url)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(5).fill(409)]);
    expect(await here.listRegistries(id)).toHaveLength(1);
  });

  test('is answered the same when the request is repeated with its Idempotency-Key', async () => {
    const id = await here.makeEnvironment();
    const { url } = await here.makeRepository();
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const first = await here.org.call('POST', registriesOf(id), { url }, headers);
    const second = await here.org.call('POST', registriesOf(id), { url }, headers);
    expect(second).toMatchObject({ status: 200, body: first.body });
    expect(first.body.repo_skills).toHaveLength(2);
  });

  test('is read with the credential of the connected repository of the same URL', async () => {
    const own = await here.world.org();
    const auth = { username: 'reader', password: 'pass-word' };
    const { url } = await here.makeRepository(twoSkills, { auth });
    const refused = (await here.addRegistry(await here.makeEnvironment(own), url, own)).body;
    expect(refused).toMatchObject({ error: expect.stringMatching(/refused access/), repo_skills: [] });

    const secret = { name: 'host', username: auth.username, token: auth.password };
    const { credential } = (await own.call('POST', '/v1/repository-credentials', secret)).body;
    const connected = await own.call('POST', '/v1/repositories', {
      url: `${url}/`,
      credential_id: credential.id,
    });
    expect(connected.status).toBe(201);
    const allowed = (await here.addRegistry(await here.makeEnvironment(own), url, own)).body;
    expect(allowed.error).toBeNull();
    expect(allowed.repo_skills).toHaveLength(2);
    const { id } = connected.body.repository;
    expect(allowed.repo_skills.map((skill: { repository_id: string }) => skill.repository_id)).toEqual([
      id,
      id,
    ]);

    const stranger = (await here.addRegistry(await here.makeEnvironment(), url)).body;
    expect(stranger).toMatchObject({ error: expect.stringMatching(/refused access/), repo_skills: [] });
  });

  test('shows its own id once the connected repository is gone', async () => {
    const { url } = await here.makeRepository();
    const { repository } = (await here.org.call('POST', '/v1/repositories', { url })).body;
    const id = await here.makeEnvironment();
    const made = (await here.addRegistry(id, url)).body;
    expect(made.repo_skills[0].repository_id).toBe(repository.id);
    expect((await here.org.call('DELETE', `/v1/repositories/${repository.id}`)).status).toBe(200);
    const [registry] = await here.listRegistries(id);
    expect(registry.repo_skills[0].repository_id).toBe(registry.id);
    expect(registry.repo_skills[0].id).toBe(made.repo_skills[0].id);
  });

  test.each([
    ['is not there', () => `${here.host.url('nowhere')}`, /no repository at this URL/],
    ['has no commit', async () => (await here.makeRepository({})).url, /empty/],
    ['cannot be reached', () => 'http://127.0.0.1:1/a/b', /cannot be reached/],
    ['has no address', () => 'https://no-such-host.invalid/a/b', /No address is known/],
  ])('whose repository %s says so', async (_, url, sentence) => {
    const id = await here.makeEnvironment();
    const made = await here.addRegistry(id, await url());
    expect(made).toMatchObject({
      status: 200,
      body: { error: expect.stringMatching(sentence), repo_skills: [], registry: { default_branch: null } },
    });
    expect((await here.listRegistries(id))[0].error).toBe(made.body.error);
  });

  test('may be without any skill', async () => {
    const { url } = await here.makeRepository({ 'README.md': 'nothing', 'skill.md': 'x' });
    expect((await here.addRegistry(await here.makeEnvironment(), url)).body).toMatchObject({
      error: null,
      repo_skills: [],
    });
  });

  test('follows its repository, and new content makes warm workspaces stale', async () => {
    const id = await here.makeEnvironment();
    const { name, url } = await here.makeRepository();
    const made = (await here.addRegistry(id, url)).body;
    const before = await here.generation(id);

    await here.rescan(made.registry.id);
    expect(await here.listRegistries(id)).toEqual([made.registry]);
    expect(await here.generation(id)).toBe(before);

    await here.host.commit(name, { 'new/SKILL.md': skillFile('new', 'Is new.') });
    await here.rescan(made.registry.id);
    const [registry] = await here.listRegistries(id);
    expect(registry.repo_skills.map((skill: { name: string }) => skill.name)).toEqual([
      'csv',
      'new',
      'pdf-tools',
    ]);
    expect(registry.repo_skills[2].id).toBe(made.repo_skills[1].id);
    expect(await here.generation(id)).toBe(before + 1);
  });

  test('that disappears keeps what it had, says so, and comes back', async () => {
    const id = await here.makeEnvironment();
    const { name, url } = await here.makeRepository();
    const made = (await here.addRegistry(id, url)).body;
    const before = await here.generation(id);

    await rename(here.host.path(name), here.host.path('away'));
    await here.rescan(made.registry.id);
    const [gone] = await here.listRegistries(id);
    expect(gone).toMatchObject({
      error: expect.stringMatching(/no repository at this URL/),
      default_branch: 'main',
      repo_skills: made.repo_skills,
    });

    await rename(here.host.path('away'), here.host.path(name));
    await here.rescan(made.registry.id);
    const [back] = await here.listRegistries(id);
    expect(back).toEqual({ ...made.registry, updated_at: back.updated_at });
    expect(await here.generation(id)).toBe(before);
  });

  test('does not take the result of a scan that began before the last one', async () => {
    const id = await here.makeEnvironment();
    const { name, url } = await here.makeRepository();
    const made = (await here.addRegistry(id, url)).body;
    const later = new Date(Date.now() + 60_000);
    await here.world.db
      .updateTable('skill_registry')
      .set({ scanned_at: later })
      .where('id', '=', made.registry.id)
      .execute();
    await here.host.commit(name, { 'new/SKILL.md': skillFile('new', 'Is new.') });
    await enqueue(here.world.db, { name: 'skill_registry.scan', payload: { registry_id: made.registry.id } });
    await here.world.drainJobs();
    expect(await here.listRegistries(id)).toEqual([made.registry]);
  });

  test('says so when the fault is ours, and recovers', async () => {
    const own = await startWorld({ environment: { REPLICA_ALLOW_PRIVATE_TARGETS: 'true' } });
    try {
      const { call } = await own.org();
      const { url } = await here.makeRepository();
      const cache = join(own.folder, 'git');
      await rm(cache, { recursive: true, force: true });
      await writeFile(cache, 'in the way');
      const made = await call('POST', registriesOf('global'), { url });
      expect(made.body).toMatchObject({ error: expect.stringMatching(/fault on our side/), repo_skills: [] });
      await rm(cache);
      const read = async () => (await call('GET', registriesOf('global'))).body.registries[0].error;
      await expect.poll(read, { timeout: 20_000 }).toBeNull();
    } finally {
      await own.close();
    }
  });

  test('shows at most 512 KiB of skills and says that there are more', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 300 }, (_, at) => [`s${at}/SKILL.md`, skillFile(`s${at}`, 'd'.repeat(2_000))]),
    );
    const id = await here.makeEnvironment();
    await here.addRegistry(id, (await here.makeRepository(files)).url);
    const read = async () => (await here.listRegistries(id))[0];
    await expect.poll(async () => (await read()).error, { timeout: 25_000 }).toMatch(/more skills than/);
    const { repo_skills } = await read();
    expect(repo_skills.length).toBeGreaterThan(250);
    expect(repo_skills.length).toBeLessThan(262);
  });

  test('shows at most 500 skills and says that there are more', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 501 }, (_, at) => [`s${String(at).padStart(3, '0')}/SKILL.md`, '']),
    );
    const id = await here.makeEnvironment();
    const { registry } = (await here.addRegistry(id, (await here.makeRepository(files)).url)).body;
    await expect
      .poll(async () => (await here.listRegistries(id))[0].error, { timeout: 25_000 })
      .toMatch(/more skills than/);
    const [listed] = await here.listRegistries(id);
    expect(listed.id).toBe(registry.id);
    expect(listed.repo_skills).toHaveLength(500);
    expect(listed.repo_skills.at(-1).path).toBe('s499/SKILL.md');
  });
});

describe('a registry whose host does not answer', () => {
  let silent: { url: string; waiting: ServerResponse[]; close(): Promise<void> };

  beforeAll(async () => {
    const waiting: ServerResponse[] = [];
    const server = createServer((_request, response) => void waiting.push(response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    silent = {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      waiting,
      async close() {
        server.close();
        server.closeAllConnections();
        await once(server, 'close');
      },
    };
  });
  afterAll(() => silent?.close());

  async function nextRequest(): Promise<ServerResponse> {
    await expect.poll(() => silent.waiting.length, { timeout: 15_000 }).toBeGreaterThan(0);
    const response = silent.waiting.pop();
    if (!response) throw new Error('no request is waiting');
    return response;
  }

  test('is answered after a while as still scanning, and later with the result', async () => {
    const id = await here.makeEnvironment();
    const adding = here.addRegistry(id, `${silent.url}/a/slow`);
    const held = await nextRequest();
    expect((await here.listRegistries(id))[0].error).toMatch(/still scanning/);
    const made = await adding;
    expect(made).toMatchObject({
      status: 200,
      body: { repo_skills: [], error: expect.stringMatching(/still scanning/) },
    });
    held.writeHead(503).end();
    await expect
      .poll(async () => (await here.listRegistries(id))[0].error, { timeout: 15_000 })
      .toMatch(/status 503/);
  });

  test('that is removed meanwhile ends the wait, and what comes later is dropped', async () => {
    const id = await here.makeEnvironment();
    const adding = here.addRegistry(id, `${silent.url}/a/removed`);
    const held = await nextRequest();
    const [registry] = await here.listRegistries(id);
    expect((await here.org.call('DELETE', `${registriesOf(id)}/${registry.id}`)).status).toBe(200);
    expect((await adding).status).toBe(404);
    const before = await here.generation(id);
    held.writeHead(503).end();
    await expect.poll(() => countJobs(registry.id), { timeout: 15_000 }).toBe(0);
    expect(await here.listRegistries(id)).toEqual([]);
    expect(await here.generation(id)).toBe(before);
  });

  async function countJobs(registryId: string): Promise<number> {
    const { rowCount } = await here.world.pool.query('select from graphile_worker.jobs where key = $1', [
      `skill_registry.scan:${registryId}`,
    ]);
    return rowCount ?? 0;
  }
});
