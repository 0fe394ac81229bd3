import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createClient } from '../src/client/client.ts';
import { embeddedConnectionString } from '../src/db/embedded/start.ts';
import { openDriver } from '../src/runtime/registry.ts';
import { startGitHost } from '../test/world/git-host.ts';
import { ServiceFolder, type ServiceProcess } from '../test/world/service-process.ts';
import { progress } from './progress.ts';
import { openReplicaEvents } from './replica-events.ts';
import { describeUnsettled } from './unsettled.ts';
import { until } from './until.ts';

export type LiveService = Awaited<ReturnType<typeof startLiveService>>;

/** What an agent without a model is told when nothing shall be done. */
export const NO_WORK = 'SCRIPT:[]';
/** Workspaces the pool keeps ready, so that a claim never waits for the one that takes its place. */
export const POOL_SIZE = 2;

const READY_WITHIN_MS = 60_000;
const REMOVE_TRIES = 40;
const REMOVE_PAUSE_MS = 250;
const SETTLED_WITHIN_MS = 3 * 60_000;
/** Hundreds of replicas on a small machine take their time. */
const MANY_WITHIN_MS = 15 * 60_000;

/** The real service with real sandboxes, and a git host with a small repository, until it is disposed of. */
export async function startLiveService(signal: AbortSignal, environment: Record<string, string> = {}) {
  await using starting = new AsyncDisposableStack();
  const host = await startGitHost();
  starting.defer(() => host.close());
  await host.createRepository('app', smallRepository());
  const folder = await ServiceFolder.create({
    REPLICA_RUNTIME: 'namespace',
    REPLICA_AGENT_RUNNER: 'scripted',
    REPLICA_ALLOW_PRIVATE_TARGETS: 'true',
    REPLICA_WARM_POOL_SIZE: String(POOL_SIZE),
    // Measured as it runs in production, but with a limit that this one key cannot reach.
    REPLICA_RATE_LIMIT_BURST: '10000000',
    ...environment,
  });
  starting.defer(() => removeFolder(folder));
  const { baseUrl, dataDir } = folder;
  const service = folder.launch();
  await until(() => isReady(baseUrl, service), {
    signal,
    what: 'the service is ready',
    timeoutMs: READY_WITHIN_MS,
  });
  const { api_key: apiKey } = folder.bootstrap();
  const client = createClient({ baseUrl, token: apiKey });
  // What callers cannot see: whether a replica that sleeps has been put to sleep wholly, and what is still to be done.
  const database = new pg.Pool({ connectionString: embeddedConnectionString(dataDir), max: 2 });
  database.on('error', () => {});
  starting.defer(() => database.end());
  const driver = await openDriver({
    name: 'namespace',
    acceptsNoIsolation: false,
    dataDir,
    base: 'host',
    engine: { bundle: '' },
    gatewayFolder: path.join(dataDir, 'runtime', 'gateway'),
  });
  starting.defer(() => driver.close());

  async function count(text: string, values: unknown[] = []): Promise<number> {
    const { rows } = await database.query<{ count: number }>(`select count(*)::int as count ${text}`, values);
    return rows[0]?.count ?? 0;
  }

  async function settled(
    what: string,
    isSettled: () => Promise<boolean>,
    timeoutMs = SETTLED_WITHIN_MS,
  ): Promise<void> {
    try {
      await until(isSettled, { signal, what, timeoutMs });
    } catch (error) {
      if (!signal.aborted) progress(await describeUnsettled(database));
      throw error;
    }
  }

  async function makeEnvironment(repositoryId: string, name: string): Promise<string> {
    const body = { name, repository_id: repositoryId };
    const { environment } = await client.createEnvironment({ body }, { signal });
    await client.setWarmPool({ params: { environmentId: environment.id }, body: { enabled: false } });
    return environment.id;
  }

  const connected = await client.createRepository({ body: { url: host.url('app') } }, { signal });
  const repository = { params: { id: connected.repository.id } };
  await client.checkRepository(repository, { signal });
  const environmentId = await makeEnvironment(connected.repository.id, 'bench');
  const everything = starting.move();

  return {
    client,
    dataDir,
    environmentId,
    repositoryUrl: host.url('app'),

    openEvents: (replicaId: string, onFrame?: Parameters<typeof openReplicaEvents>[0]['onFrame']) =>
      openReplicaEvents({ baseUrl, apiKey, replicaId, signal, ...(onFrame && { onFrame }) }),

    async setPool(enabled: boolean): Promise<void> {
      await client.setWarmPool({ params: { environmentId }, body: { enabled } }, { signal });
    },

    /** The pool is full, and nothing else is going on. */
    untilWarm(): Promise<void> {
      return settled('the warm pool is full', async () => {
        const ready = await count("from warm_pool_workspace where status = 'ready'");
        return ready === POOL_SIZE && (await isQuiet());
      });
    },

    /** Nothing is being done for any replica. */
    untilQuiet: () => settled('nothing is being done', isQuiet),

    untilAsleep: (replicaId: string) =>
      settled('the replica sleeps', async () => {
        const sleeping = "from replica where id = $1 and state = 'sleeping'";
        return (await count(sleeping, [replicaId])) === 1;
      }),

    /** None of the replicas is on its way any more; answers how many of them have failed. */
    async untilPrepared(replicaIds: readonly string[]): Promise<number> {
      const of = (state: string) =>
        count('from replica where id = any($1) and state = $2', [replicaIds, state]);
      const isPrepared = async () => (await of('preparing')) === 0;
      await settled('all replicas are active', isPrepared, MANY_WITHIN_MS);
      return of('failed');
    },

    /** When its row was written, and when it became active, by the service's clock. */
    async timesOf(replicaId: string): Promise<{ createdAt: Date; activeAt: Date | null }> {
      const { rows } = await database.query<{ createdAt: Date; activeAt: Date | null }>(
        'select created_at as "createdAt", active_since as "activeAt" from replica where id = $1',
        [replicaId],
      );
      if (!rows[0]) throw new Error(`the replica ${replicaId} is gone`);
      return rows[0];
    },

    /** Deletes replicas and waits until their sandboxes have left no trace. */
    async remove(replicaIds: readonly string[]): Promise<void> {
      const owned = 'from sandbox where replica_id = any($1)';
      await Promise.all(replicaIds.map((id) => client.deleteReplica({ params: { id } }, { signal })));
      const isGone = async () => (await count(owned, [replicaIds])) === 0;
      await settled('the sandboxes are gone', isGone, MANY_WITHIN_MS);
    },

    /** No sandbox is left, be it in the database, as a folder or as a control group. */
    untilEmpty: () =>
      settled('no sandbox is left', async () => {
        if ((await count('from sandbox')) > 0) return false;
        return (await driver.list()).sandboxes.length === 0;
      }),

    /** The end of what the service has logged. */
    lastWords: () => service.output.stderr.slice(-2_000),

    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };

  async function isQuiet(): Promise<boolean> {
    const due = 'from graphile_worker._private_jobs where run_at <= now() and attempts < max_attempts';
    const moving =
      "from replica where state in ('preparing', 'waking', 'falling_asleep', 'archiving', 'deleting')";
    return (await count(due)) === 0 && (await count(moving)) === 0;
  }
}

/** A database that was being made when the service was ended is still being written for a moment. */
async function removeFolder(folder: ServiceFolder): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await folder.remove();
    } catch (error) {
      if (tries === REMOVE_TRIES) throw error;
      await delay(REMOVE_PAUSE_MS);
    }
  }
}

async function isReady(baseUrl: string, { child, output }: ServiceProcess): Promise<boolean> {
  if (child.exitCode !== null || child.signalCode !== null)
    throw new Error(`the service ended while it started: ${output.stderr}`);
  return fetch(`${baseUrl}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** About two hundred files in a few folders: enough for a checkout to be one. */
function smallRepository(): Record<string, string> {
  const files = Array.from({ length: 200 }, (_, index) => {
    const text = `export const value${index} = ${index};\n`.repeat(20);
    return [`src/part-${index % 10}/file-${index}.ts`, text];
  });
  return { 'README.md': 'A small repository.\n', ...Object.fromEntries(files) };
}
