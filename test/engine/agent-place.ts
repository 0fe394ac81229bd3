import { onTestFinished } from 'vitest';
import type {
  Agent,
  AgentSession,
  AgentTurn,
  JsonObject,
  SessionSpec,
} from '../../src/engine/agents/agent.ts';
import { createSessions } from '../../src/engine/agents/sessions.ts';
import type { TurnRequest } from '../../src/engine/protocol.ts';
import { turnRequest } from './turn-request.ts';
import { openWorkshop } from './workshop.ts';

/** A place for the agents of chats, with an agent that does as a test tells it. */
export async function openPlace(
  overrides: { open?(spec: SessionSpec): Promise<Partial<AgentSession>> } = {},
) {
  const workshop = await openWorkshop();
  const opened: SessionSpec[] = [];
  const closed: string[] = [];
  const notices: JsonObject[] = [];
  const agent: Agent = {
    name: 'scripted',
    async open(spec) {
      opened.push(spec);
      const id = `conversation-${opened.length}`;
      const own = (await overrides.open?.(spec)) ?? {};
      const session = {
        id,
        fits: () => true,
        work: async () => {},
        commands: [],
        pid: null,
        ended: new Promise<void>(() => {}),
        close: async () => void closed.push(own.id ?? id),
      };
      // A name that changes has to stay one that changes.
      return Object.defineProperties(session, Object.getOwnPropertyDescriptors(own));
    },
  };
  let sessions = createSessions(workshop.context);
  onTestFinished(async () => {
    await sessions.closeAll();
    await workshop.close();
  });
  return {
    workshop,
    opened,
    closed,
    notices,
    agent,
    sessions: () => sessions,
    /** As a later engine does. */
    async restart() {
      await sessions.closeAll();
      sessions = createSessions(workshop.context);
    },
    work(request: TurnRequest, signal: AbortSignal = new AbortController().signal, by: Agent = agent) {
      const turn: AgentTurn = {
        request,
        signal,
        message: async () => {},
        delta: async (event) => void notices.push(event),
        heard: () => {},
      };
      return sessions.work(by, turn);
    },
  };
}

export const chatId = '00000000-0000-4000-8000-000000000001';
export const message = (request: Partial<TurnRequest> = {}) =>
  turnRequest({ message: 'x', chatId, ...request });
