import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { EngineContext } from '../context.ts';
import { hookFolder } from '../hooks.ts';
import {
  killProcesses,
  listDescendants,
  listMarked,
  type ProcessMark,
  TREE_VARIABLE,
} from '../process-tree.ts';
import type { AgentName } from '../protocol.ts';
import { type Agent, type AgentSession, type AgentTurn, agentDied, ConversationLost } from './agent.ts';
import { openConversations } from './conversations.ts';
import { openingFailure } from './opening-failure.ts';
import { ownMcpServer } from './own-mcp-server.ts';

export type Sessions = {
  /** Works on a message in the conversation of its chat, which is opened or resumed as needed. */
  work(agent: Agent, turn: AgentTurn): Promise<void>;
  /** Ends the agent of a chat, with all that it has started. */
  end(chatId: string): Promise<void>;
  /** Closes the agent of a chat, and the next one would not know of its conversation. What turns have left goes on. */
  forget(chatId: string): Promise<void>;
  closeAll(): Promise<void>;
};

type Open = {
  agent: AgentName;
  session: AgentSession;
  hasEnded: boolean;
  lastUsedMs: number;
  /** The name under which the disk knows its conversation. */
  keptId: string | null;
  /** The agent's process and what it has started for itself, such as MCP servers. */
  own: ReadonlySet<number>;
};

/**
 * Keeps the agents of chats at hand, each in the conversation of its chat, until nobody has written for a while or others
 * were used since. A turn that is interrupted, or whose agent dies, leaves no process that it has started.
 */
export function createSessions(context: EngineContext): Sessions {
  const conversations = openConversations(context.home);
  const open = new Map<string, Open>();
  const closing = new Map<string, Promise<void>>();
  const busy = new Map<string, AgentTurn>();
  const sweeper = setInterval(() => void closeIdle(), SWEEP_MS);
  sweeper.unref();

  async function sessionFor(agent: Agent, turn: AgentTurn): Promise<AgentSession> {
    const { chatId } = turn.request;
    const known = open.get(chatId);
    if (known) {
      if (known.agent === agent.name && !known.hasEnded && known.session.fits(turn.request))
        return known.session;
      await close(chatId);
    }
    await closing.get(chatId);
    turn.signal.throwIfAborted();
    const before = new Set(listMarked(markOf(chatId)));
    const session = await openOrResume(agent, turn);
    const entry: Open = {
      agent: agent.name,
      session,
      hasEnded: false,
      lastUsedMs: performance.now(),
      keptId: null,
      own: new Set(listMarked(markOf(chatId)).filter((pid) => !before.has(pid))),
    };
    open.set(chatId, entry);
    void session.ended.then(() => {
      entry.hasEnded = true;
    });
    keep(chatId, entry);
    if (session.commands.length > 0) await reportCommands(agent.name, session);
    return session;
  }

  /** An agent may go on under another name, as when the user clears the conversation. */
  function keep(chatId: string, entry: Open): void {
    const { agent, session, keptId } = entry;
    if (session.id === keptId) return;
    try {
      conversations.keep(chatId, { agent, id: session.id });
      entry.keptId = session.id;
    } catch (error) {
      context.log(`a conversation cannot be resumed after a stop: ${String(error)}`);
    }
  }

  async function openOrResume(agent: Agent, turn: AgentTurn): Promise<AgentSession> {
    const { request, signal } = turn;
    const resume = conversations.find(request.chatId, agent.name);
    try {
      return await agent.open(specOf(turn, resume), signal);
    } catch (error) {
      if (!(error instanceof ConversationLost)) throw openingFailure(error);
      await turn.delta({ type: 'notice', text: lostNotice });
      return agent.open(specOf(turn, null), signal).catch((cause: unknown) => {
        throw openingFailure(cause);
      });
    }
  }

  function specOf({ request }: AgentTurn, resume: string | null) {
    const { chatId, agent, agentFolder } = request;
    const { systemPrompt, mcpServers } = context.guidance();
    return {
      chatId,
      request,
      resume,
      folder: hookFolder({ repository: null }, context),
      environment: { ...context.childEnvironment(), [TREE_VARIABLE]: markOf(chatId).value },
      modelUrl: `http://127.0.0.1:${context.gatewayPort}/model/${agent}/${chatId}`,
      modelKey: context.secret,
      programs: path.join(context.agentsFolder, agentFolder ?? ''),
      systemPrompt,
      mcpServers: { ...mcpServers, ...ownMcpServer(context, chatId) },
      context,
    };
  }

  /** They are only good to know, and may be too long for a report. */
  async function reportCommands(agent: AgentName, { commands }: AgentSession): Promise<void> {
    const payload = { agent, commands: [...commands].slice(0, 500) };
    await context
      .report({ type: 'agent.commands', payload })
      .catch((error: unknown) => context.log(`the commands of an agent are not reported: ${String(error)}`));
  }

  async function close(chatId: string): Promise<void> {
    const entry = open.get(chatId);
    if (entry === undefined) return;
    open.delete(chatId);
    const own = withWhatTheyStarted(entry);
    const note = (error: unknown) => context.log(`an agent did not end: ${String(error)}`);
    const closed = entry.session
      .close()
      .catch(note)
      .then(() => killOwn(chatId, own))
      .catch(note);
    closing.set(chatId, closed);
    await closed;
    if (closing.get(chatId) === closed) closing.delete(chatId);
  }

  /** What turns have left, such as a server for the user to look at, goes on. */
  async function killOwn(chatId: string, own: ReadonlySet<number>): Promise<void> {
    const others = listMarked(markOf(chatId)).filter((pid) => !own.has(pid));
    await killProcesses({ ...markOf(chatId), spare: new Set(others) });
  }

  /** After a turn: one that was interrupted, or has no agent any more, leaves nothing behind. */
  async function leave({ request: { chatId }, signal }: AgentTurn, started: ProcessMark): Promise<void> {
    const entry = open.get(chatId);
    try {
      if (signal.aborted || entry === undefined || entry.hasEnded) await killProcesses(started);
    } finally {
      if (entry) {
        entry.lastUsedMs = performance.now();
        keep(chatId, entry);
      }
      busy.delete(chatId);
      closeSurplus();
    }
  }

  async function closeIdle(): Promise<void> {
    const before = performance.now() - IDLE_MS;
    for (const [chatId, { lastUsedMs, hasEnded }] of open)
      if (!busy.has(chatId) && (hasEnded || lastUsedMs < before)) await close(chatId);
  }

  /** Each one that waits for its user takes memory that those at work need. The end of a turn does not wait for it. */
  function closeSurplus(): void {
    const idle = [...open].filter(([chatId, { hasEnded }]) => !busy.has(chatId) && !hasEnded);
    const latestFirst = idle.sort(([, a], [, b]) => b.lastUsedMs - a.lastUsedMs);
    for (const [chatId] of latestFirst.slice(MAX_IDLE)) void close(chatId);
  }

  return {
    async work(agent, turn) {
      const { chatId } = turn.request;
      const mark = markOf(chatId);
      let spare = new Set(listMarked(mark));
      const before = open.get(chatId)?.session;
      busy.set(chatId, turn);
      try {
        const session = await sessionFor(agent, turn);
        // What the agent starts for itself, such as MCP servers, is there for later turns too.
        if (session !== before) spare = new Set(listMarked(mark));
        await Promise.race([session.work(turn), failWhenEnded(session)]);
      } catch (error) {
        // What comes of an agent's end may be heard of before the end itself.
        await setImmediate();
        throw error;
      } finally {
        // Whoever was given up and comes late must not touch what belongs to the turn that follows.
        if (busy.get(chatId) === turn) await leave(turn, { ...mark, spare });
      }
    },
    async end(chatId) {
      await Promise.all([close(chatId), killProcesses(markOf(chatId))]);
    },
    async forget(chatId) {
      await close(chatId);
      await closing.get(chatId);
      conversations.forget(chatId);
    },
    async closeAll() {
      clearInterval(sweeper);
      await Promise.all([...closing.values(), ...[...open.keys()].map(close)]);
    },
  };
}

const IDLE_MS = 15 * 60_000;
const SWEEP_MS = 60_000;
/** As many as a small sandbox has room for beside those at work. */
const MAX_IDLE = 4;
const lostNotice =
  'The earlier conversation of this chat is not on the disk any more; the agent starts without knowing it.';

/** In the environment of everything that belongs to a chat. */
function markOf(chatId: string): { variable: string; value: string } {
  return { variable: TREE_VARIABLE, value: `agent-${chatId}` };
}

/** An MCP server may have started more since, such as a browser. What the agent itself starts later belongs to its turns. */
function withWhatTheyStarted({ own, session }: Open): ReadonlySet<number> {
  const servers = [...own].filter((pid) => pid !== session.pid);
  return new Set([...own, ...listDescendants(servers)]);
}

async function failWhenEnded(session: AgentSession): Promise<never> {
  await session.ended;
  throw agentDied();
}
