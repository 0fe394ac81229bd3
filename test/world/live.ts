import { readdirSync, readFileSync } from 'node:fs';
import { TREE_VARIABLE } from '../../src/engine/process-tree.ts';
import type { GitHost } from './git-host.ts';
import { type Organization, startWorld, until, type World } from './world.ts';

/** Whether sandboxes of the default driver can be made here: bubblewrap is there, and root or user namespaces are. */
export const canIsolate = process.platform === 'linux' && hasNamespaces();

/** A world whose sandboxes are real. */
export function startLiveWorld(
  environment: Record<string, string> = {},
  options: Pick<Parameters<typeof startWorld>[0] & {}, 'log'> = {},
): Promise<World> {
  return startWorld({
    ...options,
    environment: { REPLICA_RUNTIME: 'namespace', REPLICA_ALLOW_PRIVATE_TARGETS: 'true', ...environment },
  });
}

export type LiveReplica = Awaited<ReturnType<typeof createLiveReplica>>;

type HistoryEntry = { type: string; payload: Record<string, unknown> };
type TurnEnd = { state: string; error: string | null; failure: string | null };

/** A message that says literally what is to be done. */
export function scriptOf(steps: readonly object[]): string {
  return `SCRIPT:${JSON.stringify(steps)}`;
}

/** A replica with what tests ask of it. */
export async function createLiveReplica(
  { world, org }: { world: World; org: Organization },
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
) {
  const wanted = { name: 'live', message: scriptOf([]), ...body };
  const made = await org.call('POST', '/v1/replica', wanted, headers);
  if (made.status !== 201) throw new Error(`not created: ${JSON.stringify(made.body)}`);
  const id: string = made.body.replica.id;

  async function rowOf() {
    return world.db.selectFrom('replica').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  }

  async function send(
    steps: readonly object[],
    more: Record<string, unknown> = {},
  ): Promise<{ messageId: string; chatId: string }> {
    const message = scriptOf(steps);
    const sent = await org.call('POST', `/v1/replica/${id}/messages`, { message, ...more });
    if (sent.status !== 200) throw new Error(`not sent: ${JSON.stringify(sent.body)}`);
    return { messageId: sent.body.message_id, chatId: sent.body.chat_id };
  }

  /** What became of a message, once its turn is over. */
  async function outcomeOf(messageId: string): Promise<TurnEnd> {
    const query = world.db.selectFrom('message').select(['state', 'error', 'failure']);
    const read = () => query.where('id', '=', messageId).executeTakeFirstOrThrow();
    return until(
      async () => {
        const end = await read();
        return ['queued', 'running'].includes(end.state) ? null : end;
      },
      { timeoutMs: 120_000 },
    ) as Promise<TurnEnd>;
  }

  /** What the history has of a message. */
  async function entriesOf(messageId: string): Promise<HistoryEntry[]> {
    const entries = await world.db
      .selectFrom('history_entry')
      .select(['type', 'payload'])
      .where('message_id', '=', messageId)
      .orderBy('id')
      .execute();
    return entries.map(({ type, payload }) => ({ type, payload: payload as Record<string, unknown> }));
  }

  /** Has the agent run steps, and gives back the messages of that turn. */
  async function turn(steps: readonly object[]): Promise<HistoryEntry[]> {
    const { messageId } = await send(steps);
    await outcomeOf(messageId);
    return entriesOf(messageId);
  }

  /** Lets the scripted agent run a command in the workspace; its output and how it ended. */
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

  const status: string = made.body.replica.status;
  return { id, status, rowOf, send, outcomeOf, entriesOf, turn, run, reach, kill };
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
  return processesWith(`REPLICA_SANDBOX_ID=${sandboxId}`);
}

/** The agent of a chat and what it has started. */
export function processesOfChat(chatId: string): number[] {
  return processesWith(`${TREE_VARIABLE}=agent-${chatId}`);
}

function processesWith(variable: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(variable);
      } catch {
        return false;
      }
    });
}

/** What a process was started as, with its arguments; nothing when it has ended. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

function hasNamespaces(): boolean {
  try {
    return Number(readFileSync('/proc/sys/user/max_user_namespaces', 'utf8')) > 0;
  } catch {
    return false;
  }
}
