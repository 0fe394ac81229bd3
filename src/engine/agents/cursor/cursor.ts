import { setTimeout as delay } from 'node:timers/promises';
import { orAbort } from '../../or-abort.ts';
import {
  type Agent,
  AgentFailure,
  type AgentSession,
  ConversationLost,
  type JsonObject,
  type SessionSpec,
} from '../agent.ts';
import { type AgentProcess, startAgentProcess } from '../agent-process.ts';
import { modelFailure } from '../model-failure.ts';
import { cursorFailure } from './cursor-failure.ts';
import { cursorStateFolder, removeCursorState, writeCursorRules } from './cursor-home.ts';
import { cursorLaunch, type EngineProgram } from './cursor-launch.ts';
import { cursorMcpServers } from './cursor-mcp-servers.ts';
import type { CursorOrder, CursorReport } from './cursor-runner.ts';
import { createCursorWork } from './cursor-work.ts';

/**
 * Cursor by its SDK, in a process of its own for each chat. Its model works at Cursor, which it reaches through the egress
 * proxy; its tools work here.
 */
export function createCursorAgent(program: EngineProgram = thisProgram): Agent {
  return {
    name: 'cursor',
    open: (spec, signal) => open(spec, { program, signal }),
    forget: removeCursorState,
  };
}

const thisProgram: EngineProgram = { node: process.execPath, script: process.argv[1] ?? '' };

export const cursorAgent: Agent = createCursorAgent();

async function open(
  spec: SessionSpec,
  { program, signal }: { program: EngineProgram; signal: AbortSignal },
): Promise<AgentSession> {
  const { credential } = spec.request;
  if (credential === null) throw modelFailure({ status: 401, message: 'Cursor works only with a key.' });
  const { promise: answered, resolve } = Promise.withResolvers<CursorReport>();
  const launch = cursorLaunch(spec.environment, program);
  const agent = await startAgentProcess({
    ...launch,
    folder: spec.folder,
    log: spec.context.log,
    onMessage: (message) => hear(message as CursorReport),
  });
  const work = createCursorWork(agent);
  try {
    agent.send(toOrder(spec, credential));
    return {
      id: await orAbort(opened(answered, { agent, spec }), signal),
      fits: (request) => request.credential === credential,
      work: work.run,
      // The SDK does not say which there are.
      commands: [],
      pid: agent.pid,
      ended: agent.ended.then(work.idle),
      close: agent.close,
    };
  } catch (error) {
    await agent.close();
    throw error;
  }

  async function hear(report: CursorReport): Promise<void> {
    if (report.report === 'opened' || report.report === 'refused') resolve(report);
    else await work.hear(report);
  }
}

/** Most of it is the list of models, which Cursor is asked for; without an answer it would wait for minutes. */
const OPENING_MS = 30_000;

async function opened(
  answered: Promise<CursorReport>,
  { agent, spec }: { agent: AgentProcess; spec: SessionSpec },
): Promise<string> {
  const report = await Promise.race([
    answered,
    agent.ended.then(() => 'dead' as const),
    delay(OPENING_MS, 'late' as const, { ref: false }),
  ]);
  if (report === 'late') throw modelFailure({ status: null, message: 'Cursor did not answer in time.' });
  if (report === 'dead') {
    const words = agent
      .lastWords()
      .replaceAll(spec.request.credential ?? '', '')
      .slice(-MAX_WORDS);
    throw new AgentFailure(`Cursor did not start. ${words}`.trim(), { kind: 'agent_died' });
  }
  if (report.report === 'opened') return report.agentId;
  const error = report.report === 'refused' ? report.error : {};
  if (spec.resume !== null && error.name === 'AgentNotFoundError')
    throw new ConversationLost('Cursor does not know the conversation.');
  throw cursorFailure(error);
}

const MAX_WORDS = 1_000;

function toOrder(spec: SessionSpec, apiKey: string): JsonObject {
  const { programs, resume, folder, chatId, environment, mcpServers, systemPrompt, context } = spec;
  return {
    order: 'open',
    nodeOptions: environment.NODE_OPTIONS ?? null,
    programs,
    apiKey,
    resume,
    folder,
    ruleFolders: writeCursorRules(context.home, systemPrompt),
    stateFolder: cursorStateFolder(context.home, chatId),
    mcpServers: cursorMcpServers(mcpServers, environment),
  } satisfies CursorOrder;
}
