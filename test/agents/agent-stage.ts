import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Agent, JsonObject } from '../../src/engine/agents/agent.ts';
import { runAgent } from '../../src/engine/agents/run-agent.ts';
import { createSessions, type Sessions } from '../../src/engine/agents/sessions.ts';
import type { EngineContext } from '../../src/engine/context.ts';
import { createGatewayClient } from '../../src/engine/gateway-client.ts';
import type { TurnOutcome } from '../../src/engine/journal.ts';
import { listMarked, TREE_VARIABLE } from '../../src/engine/process-tree.ts';
import type { BootPlan, EngineReport, TurnRequest } from '../../src/engine/protocol.ts';
import { turnRequest } from '../engine/turn-request.ts';
import { type ScriptedModelServer, startScriptedModel } from '../world/scripted-model.ts';
import { type AgentGateway, startAgentGateway } from './agent-gateway.ts';

/** What a turn left behind. */
export type TurnRecord = TurnOutcome & {
  messages: { type: string; payload: JsonObject }[];
  deltas: JsonObject[];
};

export type StartedTurn = {
  /** What was reported of it so far. */
  deltas(): JsonObject[];
  interrupt(): void;
  ended: Promise<TurnRecord>;
};

/** An engine around one agent: a home of its own, a gateway and a scripted model. */
export type AgentStage = {
  home: string;
  /** Where the agent works. */
  folder: string;
  model: ScriptedModelServer;
  gateway: AgentGateway;
  reports: EngineReport[];
  logs: string[];
  guidance: Pick<BootPlan, 'mcpServers' | 'systemPrompt'>;
  /** The conversation of all tests that do not need one of their own: a new start takes its time. */
  chat: Chat;
  openChat(): Chat;
  /** Ends the agents of the chats that were opened. */
  endChats(): Promise<void>;
  /** Lets a new engine take the place of the one that was there, whose agents are ended. */
  restart(): Promise<void>;
  close(): Promise<void>;
};

export type Chat = {
  id: string;
  start(message: string | object[], request?: Partial<TurnRequest>): StartedTurn;
  /** A message, or the steps of a script for the model. */
  run(message: string | object[], request?: Partial<TurnRequest>): Promise<TurnRecord>;
  /** Its agent and all that it has started. */
  processes(): number[];
};

export async function openAgentStage({
  agent,
  programs,
  credential = null,
}: {
  agent: Agent;
  programs: string;
  credential?: string | null;
}): Promise<AgentStage> {
  const root = mkdtempSync(path.join(tmpdir(), `agent-${agent.name}-`));
  const home = path.join(root, 'home');
  const folder = path.join(home, 'workspaces');
  const temporary = path.join(root, 'tmp');
  mkdirSync(folder, { recursive: true });
  mkdirSync(temporary, { mode: 0o700 });
  const secret = randomUUID();
  const model = await startScriptedModel();
  const gateway = await startAgentGateway({ modelUrl: model.url, secret });
  const client = createGatewayClient({ socket: path.join(root, 'nobody.sock'), secret });
  const reports: EngineReport[] = [];
  const logs: string[] = [];
  const guidance: AgentStage['guidance'] = { mcpServers: {}, systemPrompt: null };
  const chats = new Set<Chat>();
  const context: EngineContext = {
    home,
    folder: path.join(home, '.replica'),
    secret,
    sandboxId: randomUUID(),
    incarnation: 1,
    gatewayPort: gateway.port,
    now: () => new Date(),
    report: async (report) => void reports.push(report),
    flush: async () => {},
    gateway: client,
    childEnvironment: () => ({
      HOME: home,
      PATH: process.env.PATH ?? '/usr/bin:/bin',
      LANG: 'C.UTF-8',
      SHELL: '/bin/bash',
      NO_PROXY: '127.0.0.1',
      // A sandbox has a folder of its own for what is temporary; here it goes away with the test.
      TMPDIR: temporary,
      CLAUDE_CODE_TMPDIR: temporary,
    }),
    repositories: () => [],
    guidance: () => guidance,
    agentsFolder: path.dirname(programs),
    log: (line) => void logs.push(line),
    warn: (sentence) => void logs.push(sentence),
  };
  let sessions: Sessions = createSessions(context);

  function createChat(): Chat {
    const id = randomUUID();
    const mark = { variable: TREE_VARIABLE, value: `agent-${id}` };
    const chat: Chat = {
      id,
      start(message, request = {}) {
        const turn = turnRequest({
          message: typeof message === 'string' ? message : `SCRIPT:${JSON.stringify(message)}`,
          chatId: id,
          agent: agent.name,
          agentFolder: path.basename(programs),
          credential,
          ...request,
        });
        const interruption = new AbortController();
        const { signal } = interruption;
        const outcome = runAgent({ context, sessions, agent, request: turn, signal });
        const deltas = () => deltasOf(reports, turn.id);
        return {
          deltas,
          interrupt: () => interruption.abort(new Error('interrupted')),
          ended: outcome.then((end) => ({
            ...end,
            messages: messagesOf(reports, turn.id),
            deltas: deltas(),
          })),
        };
      },
      run: (message, request) => chat.start(message, request).ended,
      processes: () => listMarked(mark),
    };
    return chat;
  }

  const chat = createChat();
  return {
    home,
    folder,
    model,
    gateway,
    reports,
    logs,
    guidance,
    chat,
    openChat() {
      const own = createChat();
      chats.add(own);
      return own;
    },
    async endChats() {
      await Promise.all([...chats].map(({ id }) => sessions.end(id)));
      chats.clear();
    },
    async restart() {
      await sessions.closeAll();
      sessions = createSessions(context);
    },
    async close() {
      await Promise.all([chat, ...chats].map(({ id }) => sessions.end(id)));
      await sessions.closeAll();
      client.close();
      await gateway.close();
      await model.close();
      rmSync(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function deltasOf(reports: EngineReport[], turnId: string): JsonObject[] {
  return reports.flatMap((report) =>
    report.type === 'turn.delta' && report.payload.turnId === turnId ? [report.payload.event] : [],
  );
}

function messagesOf(reports: EngineReport[], turnId: string): TurnRecord['messages'] {
  return reports.flatMap((report) =>
    report.type === 'turn.message' && report.payload.turnId === turnId
      ? [{ type: report.payload.type, payload: report.payload.payload }]
      : [],
  );
}
