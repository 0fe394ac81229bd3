import { readdirSync, readFileSync } from 'node:fs';
import type { GitHost } from './git-host.ts';
import { type Organization, startWorld, until, type World } from './world.ts';

/** Whether sandboxes of the default driver can be made here: bubblewrap is there, and root or user namespaces are. */
export const canIsolate = process.platform === 'linux' && hasNamespaces();

/** A world whose sandboxes are real. */
export function startLiveWorld(environment: Record<string, string> = {}): Promise<World> {
  return startWorld({
    environment: { REPLICA_RUNTIME: 'namespace', REPLICA_ALLOW_PRIVATE_TARGETS: 'true', ...environment },
  });
}

export type LiveReplica = Awaited<ReturnType<typeof createLiveReplica>>;

/** A replica with what tests ask of it; its agent is the scripted one. */
export async function createLiveReplica(
  { world, org }: { world: World; org: Organization },
  body: Record<string, unknown>,
) {
  const made = await org.call('POST', '/v1/replica', { name: 'live', message: 'SCRIPT:[]', ...body });
  if (made.status !== 201) throw new Error(`not created: ${JSON.stringify(made.body)}`);
  const id: string = made.body.replica.id;

  async function rowOf() {
    return world.db.selectFrom('replica').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  }

  /** Has the agent run steps, and gives back the messages of that turn. */
  async function turn(steps: object[]): Promise<{ type: string; payload: Record<string, unknown> }[]> {
    const sent = await org.call('POST', `/v1/replica/${id}/messages`, {
      message: `SCRIPT:${JSON.stringify(steps)}`,
    });
    if (sent.status !== 200) throw new Error(`not sent: ${JSON.stringify(sent.body)}`);
    await until(
      async () => {
        const message = await world.db
          .selectFrom('message')
          .select('state')
          .where('id', '=', sent.body.message_id)
          .executeTakeFirst();
        return message && !['queued', 'running'].includes(message.state);
      },
      { timeoutMs: 60_000 },
    );
    const entries = await world.db
      .selectFrom('history_entry')
      .select(['type', 'payload'])
      .where('message_id', '=', sent.body.message_id)
      .orderBy('id')
      .execute();
    return entries.map(({ type, payload }) => ({ type, payload: payload as Record<string, unknown> }));
  }

  /** Runs a command in the workspace; its output and how it ended. */
  async function run(command: string): Promise<{ output: string; exitCode: number }> {
    const entries = await turn([{ run: command }]);
    const tool = entries.find(({ type }) => type === 'scripted-tool')?.payload;
    if (!tool) throw new Error(`the command did not run: ${JSON.stringify(entries)}`);
    return { output: String(tool.output), exitCode: Number(tool.exitCode) };
  }

  const reach = (state: string) => until(async () => (await rowOf()).state === state, { timeoutMs: 60_000 });

  /** Kills every process of its sandbox from outside. */
  async function kill(): Promise<void> {
    const sandboxId = (await rowOf()).sandbox_id ?? '';
    for (const pid of processesOf(sandboxId)) process.kill(pid, 'SIGKILL');
  }

  return { kill, id, status: made.body.replica.status as string, rowOf, turn, run, reach };
}

/** Connects a repository of the host and binds a new environment to it; gives back the environment's id. */
export async function bindRepository(org: Organization, host: GitHost, name: string): Promise<string> {
  const connected = await org.call('POST', '/v1/repositories', { url: host.url(name) });
  const repository_id: string = connected.body.repository.id;
  await until(async () => {
    const { body } = await org.call('GET', `/v1/repositories/${repository_id}`);
    return (
      body.repository.status === 'ready' || body.repository.status === 'ok' || body.repository.head_commit
    );
  });
  const bound = await org.call('POST', '/v1/environments', { name, repository_id });
  return bound.body.environment.id;
}

/** Processes whose environment names the sandbox: its engine and what the engine started. */
export function processesOf(sandboxId: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`REPLICA_SANDBOX_ID=${sandboxId}`);
      } catch {
        return false;
      }
    });
}

function hasNamespaces(): boolean {
  try {
    return Number(readFileSync('/proc/sys/user/max_user_namespaces', 'utf8')) > 0;
  } catch {
    return false;
  }
}
