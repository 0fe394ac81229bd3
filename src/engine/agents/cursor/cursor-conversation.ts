import { setTimeout as delay } from 'node:timers/promises';
import type { ThinkingLevel } from '../../protocol.ts';
import { chooseCursorModel } from './cursor-model.ts';
import {
  type CursorAgentOptions,
  type CursorMcpServer,
  type CursorRun,
  type CursorRunResult,
  loadCursorSdk,
} from './cursor-sdk.ts';

/** What a conversation is opened with. */
export type CursorOpening = {
  /** The folder with the SDK. */
  programs: string;
  /**
   * The one key that has to be inside the sandbox: Cursor's own code talks to Cursor itself, in a protocol of its own, so
   * that no gateway can put the key in from outside. Whatever runs in the sandbox could get hold of it.
   */
  apiKey: string;
  /** Cursor's own name of the conversation to go on with; null for a new one. */
  resume: string | null;
  folder: string;
  ruleFolders: string[];
  stateFolder: string;
  mcpServers: Record<string, CursorMcpServer>;
};

export type CursorMessage = {
  text: string;
  images: { data: string; mimeType: string }[];
  model: string | null;
  thinkingLevel: ThinkingLevel;
  fastMode: boolean;
  planMode: boolean;
};

export type CursorConversation = {
  agentId: string;
  /** Lets Cursor work on a message, and passes on what it says. */
  work(message: CursorMessage, listener: CursorListener): Promise<CursorEnd>;
  /** Ends the work on a message; does nothing when there is none. */
  cancel(): Promise<void>;
};

/** How the work has ended, with what the SDK says of an error. */
export type CursorEnd = {
  status: CursorRunResult['status'];
  error: { name?: string; code?: string; status?: number; message?: string };
};

export type CursorListener = {
  /** A message of the SDK. */
  heard(message: object): Promise<void>;
  /** A sentence for the user. */
  notice(text: string): Promise<void>;
};

/** Opens a conversation by means of the SDK, inside the runner. Throws the SDK's own errors. */
export async function openCursorConversation(opening: CursorOpening): Promise<CursorConversation> {
  const { apiKey, folder, ruleFolders, stateFolder, mcpServers } = opening;
  const { Agent, Cursor, SqliteLocalAgentStore } = loadCursorSdk(opening.programs);
  // Node finds no way through a proxy by HTTP/2, and there is no other way out of the sandbox.
  Cursor.configure({ local: { useHttp1ForAgent: true } });
  // The SDK's other store, of plain files, writes all of them anew for every piece of what is said.
  const store = await SqliteLocalAgentStore.open({ workspaceRef: folder, stateRoot: stateFolder });
  const options = ({ planMode }: { planMode: boolean }): CursorAgentOptions => ({
    apiKey,
    mcpServers,
    disallowedTools: planMode ? [...refusedTools, ...changingTools] : refusedTools,
    local: {
      cwd: folder,
      dirs: ruleFolders,
      settingSources: ['project', 'user'],
      // The replica itself is the sandbox, and lets nobody make another one inside.
      sandboxOptions: { enabled: false },
      store,
    },
  });
  let planMode = false;
  let agent =
    opening.resume === null
      ? await Agent.create(options({ planMode }))
      : await Agent.resume(opening.resume, options({ planMode }));
  const models = await Cursor.models.list({ apiKey });
  let run: CursorRun | null = null;
  let isCancelled = false;

  /** Which tools there are is fixed for an agent, but it can be had again with others. */
  async function setPlanMode(wanted: boolean): Promise<void> {
    if (planMode === wanted) return;
    const former = agent;
    agent = await Agent.resume(former.agentId, options({ planMode: wanted }));
    planMode = wanted;
    former.close();
  }

  /** An error from inside of a run most often says what happened, but not of what kind it was; a plain request tells. */
  async function explain(error: CursorEnd['error']): Promise<CursorEnd['error']> {
    if (error.code !== undefined) return error;
    const late = delay(EXPLANATION_MS, null, { ref: false });
    const reason = await Promise.race([Cursor.models.list({ apiKey }), late]).catch((cause) => cause);
    if (!(reason instanceof Error)) return error;
    const { name, code, status, message } = reason as CursorEnd['error'];
    return { name, code, status, message: error.message ?? message };
  }

  return {
    agentId: agent.agentId,
    async work(message, { heard, notice }) {
      const { text, images } = message;
      const choice = chooseCursorModel(models, message);
      isCancelled = false;
      if (choice.notice !== null) await notice(choice.notice);
      try {
        await setPlanMode(message.planMode);
        run = await agent.send(
          { text, ...(images.length > 0 && { images }) },
          {
            model: choice.selection,
            mode: message.planMode ? 'plan' : 'agent',
            // A run that was going on when the runner was killed is still in the store, and in the way.
            local: { force: true },
          },
        );
        if (isCancelled) await run.cancel();
        for await (const said of run.stream()) await heard(said);
        const { status, error } = await run.wait();
        return { status, error: status === 'error' ? await explain(error ?? {}) : {} };
      } finally {
        run = null;
      }
    },
    async cancel() {
      isCancelled = true;
      await run?.cancel();
    },
  };
}

const EXPLANATION_MS = 5_000;
/** Nobody is there to answer, and the mode is the user's choice. */
const refusedTools = ['askQuestion', 'switchMode'];
/** Helpers have tools of their own, which cannot be refused. */
const changingTools = ['shell', 'edit', 'delete', 'applyAgentDiff', 'task'];
