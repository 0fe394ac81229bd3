import { z } from 'zod';

/**
 * What the control plane and the engine say to each other. The engine imports types only, so that zod stays out of its
 * bundle: it trusts the control plane, and the control plane parses every byte that comes back.
 *
 * Commands, HTTP over `driver.connect(key, 'engine')`, `Authorization: Bearer <engine secret>`:
 *   GET  /                        → EngineInfo
 *   PUT  /boot                    BootPlan → 202; the same id twice is one boot
 *   POST /turns                   TurnRequest → 202; the same id twice is one turn
 *   POST /turns/{id}/interrupt    → 200 { interrupted }
 *   DELETE /chats/{id}            → 204; its turn, its agent and what is kept of its conversation are gone, or soon
 *   POST /capture                 → 200 when repositories and canvas as they are now have reached the gateway
 *   POST /flush                   → 200 when everything reported so far has reached the gateway
 *   GET  /terminals               → 200 { terminals: TerminalInfo[] }
 *   POST /terminals               TerminalRequest → 201 TerminalInfo; 409 above 8
 *   POST /terminals/{id}/input    raw bytes → 204
 *   POST /terminals/{id}/resize   { cols, rows } → 204
 *   GET  /terminals/{id}/stream?offset=N  → raw bytes from that offset on, until the terminal ends; header x-terminal-offset
 *   DELETE /terminals/{id}        → 204
 *   POST /tunnel/{port}           Upgrade: tcp → 101, then raw bytes to 127.0.0.1:{port}
 *
 * Back, HTTP over the gateway's socket, same secret as bearer or as the password of basic (proxy) credentials:
 *   GET  /engine/state            → 200 { acked }: the sequence number the next event must follow
 *   POST /engine/events           EventBatch → 200 { acked }; 409 { acked } when a number is missing in between, or
 *                                 when another incarnation is the present one: the events are for the next to send
 *   PUT  /engine/canvas/{name}    raw bytes of a canvas item, at most 5 MB → 204; x-size-bytes alone for a larger one
 *   DELETE /engine/canvas/{name}  → 204
 *   PUT  /engine/shadow/{repositoryId}  a git bundle, headers x-base-commit, x-head-commit, x-shadow-commit, x-branch → 204
 *   GET  /engine/shadow/{repositoryId}  → 200 the bundle with the same headers, or 404
 *   *    /git/{repositoryId}/…    smart HTTP of a bound repository
 *   *    /v1/previews/{port}      agent mode of the public API
 *   *    /model/{agent}/{chatId}/…  the model API the agent speaks, with the organization's key added outside
 *   POST /mcp/{chatId}            the service's own MCP server (streamable HTTP), for the agent of a chat
 *   CONNECT host:port, absolute-form requests: the egress proxy
 */

const uuid = z.guid();
const timestamp = z.iso.datetime();
const commit = z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/);
const count = z.int().min(0).max(1_000_000_000);
const line = z.string().max(2_000);
const exitCode = z.int().min(-1).max(255);

export const engineInfo = z.object({
  /** Versions of the protocol it speaks. */
  protocol: z.object({ oldest: z.int(), newest: z.int() }),
  version: z.string().max(100),
  incarnation: z.int(),
  uptimeSeconds: z.number(),
  /** The boot it has been given, if any. */
  boot: z.object({ id: uuid, state: z.enum(['running', 'finished', 'failed']) }).nullable(),
  /** The turns whose end it has yet to report; an older engine does not say. */
  turns: z.array(uuid).max(1_000).optional(),
});
export type EngineInfo = z.infer<typeof engineInfo>;

/**
 * What a workspace shall be like. It is the whole truth for a cold start, a claim, a wake and a warm build alike: what is
 * already there, such as a cloned repository, is left as it is.
 */
export type BootPlan = {
  id: string;
  repositories: BootRepository[];
  files: { path: string; contentBase64: string }[];
  /** Global under named is already applied. They live in the engine's memory and in its children, not on disk. */
  variables: Record<string, string>;
  /** Folders of files under ~/.replica/skills/<slug>, linked to where each agent looks. */
  skills: { slug: string; files: { path: string; contentBase64: string }[] }[];
  mcpServers: Record<string, McpServer>;
  systemPrompt: string | null;
  /** In the order in which they run, after everything else is in place. */
  hooks: BootHook[];
  /** What is missing or left out already before the boot, for its report; a control plane may have nothing to say. */
  warnings?: string[];
  /** A failing hook of this phase fails the boot; others are reported and the boot goes on. */
  failOn: 'nothing' | 'warm_hook';
  gitIdentity: { name: string; email: string };
};

export type BootRepository = {
  id: string;
  /** The folder's name under ~/workspaces. */
  name: string;
  /** The address people know; requests to it go to the gateway. */
  url: string;
  branch: string | null;
  /** Build from what the gateway keeps of it, because its disk was lost. */
  restore: boolean;
};

export type McpServer =
  | { transport: 'stdio'; command: string; args: string[]; env: Record<string, string> }
  | { transport: 'http' | 'sse'; url: string; headers: Record<string, string> };

export type BootHook = {
  runId: string;
  phase: 'warm' | 'start';
  /** The repository in whose folder it runs; null for ~/workspaces, or the only repository's folder. */
  repository: string | null;
  commands: string[];
  /** For each command, or for all of them when they are one script. */
  timeoutMs: number;
  separate: boolean;
};

export type AgentName = 'claude' | 'codex' | 'cursor' | 'opencode' | 'scripted';
export type ThinkingLevel = 'low' | 'medium' | 'high' | 'max';

export type TurnRequest = {
  /** The id of the message: a message is one turn. */
  id: string;
  chatId: string;
  /** Which agent's code runs it. */
  agent: AgentName;
  /** The folder of the agent's programs below the agents folder; null for one that is part of the engine. */
  agentFolder: string | null;
  message: string;
  images: TurnImage[];
  /** Null for the agent's own choice. */
  model: string | null;
  thinkingLevel: ThinkingLevel;
  planMode: boolean;
  goalMode: boolean;
  fastMode: boolean;
  /** For an agent that talks to its provider itself, and needs its key inside; null for all that use the gateway. */
  credential: string | null;
  /** How long the agent may say nothing, and how long it may take in all. */
  silenceMs: number;
  durationMs: number;
};

export type TurnImage = {
  mediaType: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
  dataBase64: string;
};

/** Why a turn has failed, for programs; its sentence is for people. */
export const turnFailure = z.enum([
  /** The agent says that it could not do it. */
  'agent_failed',
  /** Its process ended, or could not be started. */
  'agent_died',
  /** It said nothing for too long, or took too long in all. */
  'timed_out',
  /** The model provider refused the key, or there is none. */
  'model_unauthorized',
  /** The model provider refused the request. */
  'model_refused',
  /** The model provider has too much to do, or the limits of the account are reached. */
  'model_overloaded',
  /** The model provider cannot be reached or answers with trouble of its own. */
  'model_unreachable',
  /** What the replica or the organization may spend is spent. */
  'budget_reached',
  /** The sandbox stopped meanwhile. */
  'stopped',
]);
export type TurnFailureKind = z.infer<typeof turnFailure>;

const slashCommand = z.object({
  command: z.string().max(200),
  description: z.string().max(2_000),
  argumentHint: z.string().max(500).nullable(),
});
export type SlashCommand = z.infer<typeof slashCommand>;

export type TerminalRequest = { id: string; cols: number; rows: number; command?: string };
export const terminalInfo = z.object({
  id: uuid,
  cols: z.int(),
  rows: z.int(),
  createdAt: timestamp,
  exitCode: z.int().nullable(),
});
export type TerminalInfo = z.infer<typeof terminalInfo>;

const repositoryState = z.object({
  id: uuid,
  branch: z.string().max(1_000).nullable().describe('Null when HEAD is on no branch.'),
  head: commit.nullable(),
  /** What the diff is against: the commit that was checked out at first. */
  baseCommit: commit.nullable(),
  added: count,
  removed: count,
  /** Unified, with untracked files; cut at a line when it is longer than DIFF_CHARACTERS. */
  diff: z.string().max(2_100_000),
  isDiffCut: z.boolean(),
  /** Why uncommitted work could not be kept outside, e.g. because it is too large. */
  shadowProblem: line.nullable(),
});
export type RepositoryState = z.infer<typeof repositoryState>;

const event = <T extends string, P extends z.ZodRawShape>(type: T, payload: P) =>
  z.object({ seq: z.int().min(1), at: timestamp, type: z.literal(type), payload: z.object(payload) });

/** Everything an engine can report. A type that is not here is dropped by an older control plane, not refused. */
export const engineEvent = z.discriminatedUnion('type', [
  event('engine.started', { version: z.string().max(100) }),
  event('boot.step', {
    bootId: uuid,
    /** `repository <name>`, `files`, `skills`, `mcp`, `hook <name>` … */
    step: z.string().max(200),
    startedAt: timestamp,
    durationMs: z.number().min(0).max(1_000_000_000),
    outcome: z.enum(['done', 'skipped', 'failed']),
    detail: line.nullable(),
  }),
  event('boot.finished', {
    bootId: uuid,
    repositories: z.array(repositoryState).max(100),
    filesWritten: z.array(z.string().max(1_000)).max(1_000),
    variablesSet: z.array(z.string().max(1_000)).max(2_000),
    skillsInstalled: z.array(z.string().max(1_000)).max(2_000),
    warnings: z.array(line).max(100),
  }),
  /** `message` is for the user: what failed and what to do. */
  event('boot.failed', { bootId: uuid, step: z.string().max(200), message: z.string().max(4_000) }),
  event('hook.started', { runId: uuid }),
  event('hook.output', { runId: uuid, text: z.string().max(70_000) }),
  event('hook.finished', { runId: uuid, exitCode: exitCode.nullable(), timedOut: z.boolean() }),
  event('turn.started', { turnId: uuid, chatId: uuid }),
  /** A whole message of the agent, for the history. */
  event('turn.message', {
    turnId: uuid,
    chatId: uuid,
    type: z.string().max(100),
    payload: z.record(z.string(), z.unknown()),
  }),
  /** A piece of a message that is being written, for streams only. */
  event('turn.delta', { turnId: uuid, chatId: uuid, event: z.record(z.string(), z.unknown()) }),
  event('turn.finished', {
    turnId: uuid,
    chatId: uuid,
    outcome: z.enum(['completed', 'failed', 'interrupted']),
    error: z.string().max(4_000).nullable(),
    /** Only of a failed turn; an older engine does not say. */
    failure: turnFailure.nullable().optional(),
  }),
  /** What can be written after a slash to an agent, as it says itself. */
  event('agent.commands', {
    agent: z.enum(['claude', 'codex', 'cursor', 'opencode', 'scripted']),
    commands: z.array(slashCommand).max(500),
  }),
  event('repositories.changed', { repositories: z.array(repositoryState).max(100) }),
]);
export type EngineEvent = z.infer<typeof engineEvent>;
export type EngineEventType = EngineEvent['type'];
/** An event before the outbox has given it its number and time. */
export type EngineReport = {
  [T in EngineEventType]: Pick<Extract<EngineEvent, { type: T }>, 'type' | 'payload'>;
}[EngineEventType];

export const eventBatch = z.object({
  incarnation: z.int().min(1),
  /** Consecutive, in order; parsed one by one, so that an unknown type does not stop the others. */
  events: z.array(z.looseObject({ seq: z.int().min(1), type: z.string().max(100) })).max(1_000),
});
