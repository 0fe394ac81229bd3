import { createRequire } from 'node:module';
import path from 'node:path';
import type { JsonObject } from '../agent.ts';

/** The part of Cursor's SDK that is used here, in the words of its own declarations. */
export type CursorSdk<Store = unknown> = {
  Agent: {
    create(options: CursorAgentOptions<Store>): Promise<CursorSdkAgent>;
    resume(agentId: string, options: CursorAgentOptions<Store>): Promise<CursorSdkAgent>;
  };
  Cursor: {
    configure(options: { local: { useHttp1ForAgent: boolean } }): void;
    models: { list(options: { apiKey: string }): Promise<CursorModel[]> };
  };
  SqliteLocalAgentStore: { open(options: { workspaceRef: string; stateRoot: string }): Promise<Store> };
};

export type CursorAgentOptions<Store = unknown> = {
  apiKey: string;
  mcpServers: Record<string, CursorMcpServer>;
  disallowedTools: string[];
  local: {
    cwd: string;
    /** More folders whose rules are read. */
    dirs: string[];
    settingSources: ('project' | 'user')[];
    sandboxOptions: { enabled: boolean };
    store: Store;
  };
};

export type CursorMcpServer =
  | { type: 'stdio'; command: string; args: string[]; env: Record<string, string> }
  | { type: 'http' | 'sse'; url: string; headers: Record<string, string> };

export type CursorSdkAgent = {
  readonly agentId: string;
  send(
    message: { text: string; images?: { data: string; mimeType: string }[] },
    options: { model: CursorModelSelection; mode: 'agent' | 'plan'; local: { force: boolean } },
  ): Promise<CursorRun>;
  close(): void;
};

export type CursorRun = {
  /** What is said comes in pieces, each of them a message. */
  stream(): AsyncGenerator<object, void>;
  wait(): Promise<CursorRunResult>;
  cancel(): Promise<void>;
};

export type CursorRunResult = {
  status: 'finished' | 'error' | 'cancelled';
  error?: { message: string; code?: string };
};

export type CursorModelParameter = { id: string; value: string };
export type CursorModelSelection = { id: string; params?: CursorModelParameter[] };

/** What the catalog of models says of one of them. */
export type CursorModel = {
  id: string;
  displayName: string;
  aliases?: string[];
  parameters?: { id: string; values: { value: string }[] }[];
  variants?: { params: CursorModelParameter[]; isDefault?: boolean }[];
};

/** Loads the SDK from the folder of the agent's programs; it takes about a second. */
export function loadCursorSdk(programs: string): CursorSdk {
  const own = path.join(programs, 'node_modules', '@cursor', 'sdk', 'package.json');
  // The SDK looks for programs of its own, such as its search, in the folders above the script that was started.
  process.argv[1] = own;
  const load = createRequire(path.join(programs, 'package.json')) as (name: string) => JsonObject;
  return { ...load('@cursor/sdk'), ...load('@cursor/sdk/sqlite') } as CursorSdk;
}
