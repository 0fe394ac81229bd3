import { expect } from 'vitest';
import { enqueue } from '../../src/work/enqueue.ts';
import { type Files, type GitHost, startGitHost } from './git-host.ts';
import { type Organization, startWorld } from './world.ts';

export type RegistryWorld = Awaited<ReturnType<typeof startRegistryWorld>>;

export const skillFile = (name: string, description: string) =>
  `---\nname: ${name}\ndescription: ${description}\n---\nWords.\n`;

export const twoSkills: Files = {
  'README.md': '# Skills',
  'pdf/SKILL.md': skillFile('pdf-tools', 'Reads PDFs.'),
  'pdf/run.sh': 'exit 1',
  'deep/er/csv/SKILL.md': skillFile('csv', 'Reads CSVs.'),
};

export const registriesOf = (environmentId: string) => `/v1/environments/${environmentId}/skills-registries`;

/** A service beside a real git host, with what tests of skill registries do again and again. */
export async function startRegistryWorld() {
  await using starting = new AsyncDisposableStack();
  const host = await startGitHost();
  starting.defer(() => host.close());
  const world = await startWorld({ environment: { REPLICA_ALLOW_PRIVATE_TARGETS: 'true' } });
  starting.defer(() => world.close());
  const org = await world.org();
  let count = 0;

  async function makeRepository(files = twoSkills, options?: Parameters<GitHost['createRepository']>[2]) {
    const name = `skills-${++count}`;
    await host.createRepository(name, files, options);
    return { name, url: host.url(name) };
  }

  async function makeEnvironment(of: Organization = org, body: object = {}): Promise<string> {
    const answer = await of.call('POST', '/v1/environments', { name: crypto.randomUUID(), ...body });
    expect(answer.status).toBe(201);
    return answer.body.environment.id;
  }

  const addRegistry = (id: string, url: unknown, of: Organization = org) =>
    of.call('POST', registriesOf(id), { url });

  const listRegistries = async (id: string) => (await org.call('GET', registriesOf(id))).body.registries;

  /** The generation of an environment's warm pool. */
  async function generation(environmentId: string): Promise<number> {
    const row = await world.db
      .selectFrom('warm_pool')
      .select('generation')
      .where('environment_id', '=', environmentId)
      .executeTakeFirstOrThrow();
    return row.generation;
  }

  /** Lets the schedule find the registry due, as it does some minutes later. */
  async function rescan(id: string): Promise<void> {
    const longAgo = new Date(Date.now() - 16 * 60_000);
    await world.db.updateTable('skill_registry').set({ scanned_at: longAgo }).where('id', '=', id).execute();
    await enqueue(world.db, { name: 'skill_registry.rescan', payload: {} });
    const scannedAt = async () => {
      const query = world.db.selectFrom('skill_registry').select('scanned_at').where('id', '=', id);
      return (await query.executeTakeFirstOrThrow()).scanned_at?.getTime();
    };
    await expect.poll(scannedAt, { timeout: 15_000 }).toBeGreaterThan(longAgo.getTime());
  }

  const everything = starting.move();
  return {
    host,
    world,
    org,
    makeRepository,
    makeEnvironment,
    addRegistry,
    listRegistries,
    generation,
    rescan,
    close: () => everything.disposeAsync(),
  };
}
