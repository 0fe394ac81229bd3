import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { embeddedConnectionString } from '../../src/db/embedded/start.ts';
import { place } from '../../src/engine/place.ts';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { commandOf, processesOf } from '../world/live.ts';
import { ServiceFolder, type ServiceProcess } from '../world/service-process.ts';
import { type ApiAnswer, type ApiCall, caller } from '../world/world.ts';

const QUERY_LIMIT_MS = 60_000;

/** A message that the service has acknowledged; its marker is what its turn writes into the workspace's ledger. */
export type Acknowledged = { replicaId: string; messageId: string; marker: string };
export type Fleet = Awaited<ReturnType<typeof launchFleet>>;

type Runner = 'scripted' | 'real';

/**
 * The real service with real sandboxes, and what its callers were told. Messages are worked on by the agent without a
 * model, or by real agents that speak to the offline model.
 */
export async function launchFleet({ runner = 'scripted' }: { runner?: Runner } = {}) {
  await using starting = new AsyncDisposableStack();
  const host = await startGitHost();
  starting.defer(() => host.close());
  await host.createRepository('app', { 'README.md': 'hello\n' });
  const folder = await ServiceFolder.create({
    REPLICA_RUNTIME: 'namespace',
    REPLICA_AGENT_RUNNER: runner,
    REPLICA_OFFLINE_MODEL: 'true',
    REPLICA_ALLOW_PRIVATE_TARGETS: 'true',
    REPLICA_WARM_POOL_SIZE: '1',
    REPLICA_STALL_SECONDS: '15',
    REPLICA_RATE_LIMIT_BURST: '1000000',
  });
  starting.defer(() => folder.remove());
  let service = await folder.serve();
  const call = caller(folder.baseUrl, folder.bootstrap().api_key);
  const messages: Acknowledged[] = [];

  /** Sends until there is an answer; a repeat carries the same key, so it does nothing twice. */
  async function insist(method: string, path: string, body?: unknown): Promise<ApiAnswer> {
    const headers: Record<string, string> = method === 'POST' ? { 'idempotency-key': randomUUID() } : {};
    for (;;) {
      const answer = await call(method, path, body, headers).catch(() => null);
      if (answer && answer.status < 500) return answer;
      await delay(20);
    }
  }

  /** A message that lets the agent run a command. */
  function scriptOf(command: string): string {
    const steps = runner === 'real' ? [{ shell: command }, { text: 'done' }] : [{ run: command }];
    return `SCRIPT:${JSON.stringify(steps)}`;
  }

  const environmentId = await makeEnvironment(insist, host);
  /** Asks until there is an answer: the database may just have been killed. */
  async function query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    const giveUpAt = performance.now() + QUERY_LIMIT_MS;
    for (;;) {
      try {
        return await ask<Row>(text, values);
      } catch (error) {
        if (performance.now() > giveUpAt) throw error;
        await delay(50);
      }
    }
  }

  async function ask<Row extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    const client = new pg.Client({ connectionString: embeddedConnectionString(folder.dataDir) });
    // A connection that breaks says so by the query too.
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  const everything = starting.move();

  return {
    folder,
    environmentId,
    messages,
    insist,
    query,
    scriptOf,

    async createReplica(): Promise<string> {
      const marker = randomUUID();
      const made = await insist('POST', '/v1/replica', {
        name: 'chaos',
        message: scriptOf(writing(marker)),
        environment_id: environmentId,
      });
      if (made.status !== 201) throw new Error(`create answered ${JSON.stringify(made.body)}`);
      const replicaId: string = made.body.replica.id;
      const [first] = await query<{ id: string }>(
        'select id from message where replica_id = $1 order by created_at',
        [replicaId],
      );
      if (!first) throw new Error(`the first message of ${replicaId} is lost`);
      messages.push({ replicaId, messageId: first.id, marker });
      return replicaId;
    },

    /** Sends a message to some chat; null when the replica takes none any more. */
    async sendMessage(
      replicaId: string,
      to: { chat_id?: string; coding_agent?: string } = {},
      command = writing,
    ): Promise<Acknowledged | null> {
      const marker = randomUUID();
      const message = scriptOf(command(marker));
      const sent = await insist('POST', `/v1/replica/${replicaId}/messages`, { message, ...to });
      if (sent.status === 409 || sent.status === 404) return null;
      if (sent.status !== 200) throw new Error(`message answered ${JSON.stringify(sent.body)}`);
      const acknowledged = { replicaId, messageId: sent.body.message_id, marker };
      messages.push(acknowledged);
      return acknowledged;
    },

    async killService(): Promise<void> {
      await service.kill('SIGKILL');
      service = await folder.serve();
    },

    async killDatabase(): Promise<void> {
      process.kill(folder.postmasterPid(), 'SIGKILL');
      await ready(call, service);
    },

    /** Ends the engine of a sandbox, its agents, or every process in it. */
    killSandbox(sandboxId: string, part: 'engine' | 'agents' | 'whole'): void {
      const programs = { engine: place.engineBundle, agents: place.agents, whole: '' };
      for (const pid of processesOf(sandboxId).filter((each) => commandOf(each).includes(programs[part]))) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It has ended by itself meanwhile.
        }
      }
    },

    serviceLog: () => service.output.stderr,
    close: () => everything.disposeAsync(),
  };
}

/** Takes a moment, so that a kill can come before it, in it and after it. */
function writing(marker: string): string {
  return `sleep 0.2; echo ${marker} >> ~/ledger`;
}

async function makeEnvironment(
  insist: (method: string, path: string, body?: unknown) => Promise<ApiAnswer>,
  host: GitHost,
): Promise<string> {
  const connected = await insist('POST', '/v1/repositories', { url: host.url('app') });
  const repository_id: string = connected.body.repository.id;
  const bound = await insist('POST', '/v1/environments', { name: 'chaos', repository_id });
  const environmentId: string = bound.body.environment.id;
  const hooks = `/v1/environments/${environmentId}`;
  await insist('POST', `${hooks}/warm-hooks/save`, { content: 'echo warm > ~/warm; sleep 0.2' });
  await insist('POST', `${hooks}/start-hooks/save`, { content: 'test -e ~/warm && echo start' });
  return environmentId;
}

async function ready(call: ApiCall, service: ServiceProcess): Promise<void> {
  for (;;) {
    const answer = await call('GET', '/v1/replica?limit=1').catch(() => null);
    if (answer?.status === 200) return;
    if (service.child.exitCode !== null) throw new Error(`the service ended: ${service.output.stderr}`);
    await delay(20);
  }
}

/** What exists of sandboxes on disk, by the driver's own folders. */
export function foldersOf(folder: ServiceFolder): string[] {
  const sandboxes = `${folder.dataDir}/runtime/namespace/sandboxes`;
  return existsSync(sandboxes) ? readdirSync(sandboxes) : [];
}
