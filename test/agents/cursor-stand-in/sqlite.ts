import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** What is kept of a conversation. */
export type Conversation = {
  agentId: string;
  cwd: string;
  /** The run that is going on, or was when the process was killed. */
  activeRunId: string | null;
  messages: ChatMessage[];
};

/** As the model API of the scripted model wants it. */
export type ChatMessage = {
  role: 'user' | 'assistant' | 'tool';
  content: unknown;
  tool_call_id?: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
};

/** Stands in for the store of the SDK, with a file for each conversation. */
export type SqliteLocalAgentStore = {
  load(agentId: string): Conversation | null;
  save(conversation: Conversation): void;
};

export const SqliteLocalAgentStore = {
  async open({ stateRoot }: { workspaceRef: string; stateRoot: string }): Promise<SqliteLocalAgentStore> {
    mkdirSync(stateRoot, { recursive: true });
    const file = (agentId: string) => path.join(stateRoot, `${agentId}.json`);
    return {
      load: (agentId) => (existsSync(file(agentId)) ? JSON.parse(readFileSync(file(agentId), 'utf8')) : null),
      save(conversation) {
        writeFileSync(`${file(conversation.agentId)}.new`, JSON.stringify(conversation));
        renameSync(`${file(conversation.agentId)}.new`, file(conversation.agentId));
      },
    };
  },
};
