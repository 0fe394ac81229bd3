import type { McpServer } from '../../protocol.ts';
import type { JsonObject } from '../agent.ts';

/** The provider whose models opencode knows by itself: their limits, what they take, how hard they can think. */
export const KNOWN_PROVIDER = 'openrouter';
/** The provider of a model that opencode does not know: the same address, and what most models of today can do. */
export const OTHER_PROVIDER = 'router';

/**
 * The configuration of one opencode process. It comes on top of what the user and the repository have written, so that it
 * names only what has to be so: the way to the model, and that nobody is there to be asked.
 */
export function opencodeConfig(options: {
  modelUrl: string;
  modelKey: string;
  /** The model that is wanted first; opencode may not know it. */
  model: string;
  /** Files whose text is added to the system prompt of every agent and helper. */
  instructions: readonly string[];
  mcpServers: Readonly<Record<string, McpServer>>;
}): string {
  const { modelUrl, modelKey, model, instructions, mcpServers } = options;
  const way = { baseURL: `${modelUrl}/v1`, apiKey: modelKey };
  return asLiteral({
    autoupdate: false,
    share: 'disabled',
    // The service keeps copies of the work itself.
    snapshot: false,
    enabled_providers: [KNOWN_PROVIDER, OTHER_PROVIDER],
    provider: {
      [KNOWN_PROVIDER]: { options: way },
      [OTHER_PROVIDER]: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Model router',
        options: way,
        models: { [model]: unknownModel },
      },
    },
    permission: askedOtherwise,
    agent: { plan: { permission: planPermission } },
    instructions,
    mcp: Object.fromEntries(Object.entries(mcpServers).map(([name, server]) => [name, mcpEntry(server)])),
  });
}

const unknownModel = {
  reasoning: true,
  tool_call: true,
  attachment: true,
  modalities: { input: ['text', 'image'], output: ['text'] },
  limit: { context: 128_000, output: 32_000 },
};

/** What opencode asks a person about when nobody says otherwise. Its other rules stay, such as those of its helpers. */
const askedOtherwise = {
  doom_loop: 'allow',
  external_directory: 'allow',
  read: 'allow',
  question: 'deny',
  plan_enter: 'deny',
  plan_exit: 'deny',
};

/** Nothing tells a command that reads from one that writes, and a helper has rules of its own. */
const planPermission = { edit: 'deny', bash: 'deny', task: 'deny' };

/** A server that is slow to start must not be left out at once. */
const MCP_TIMEOUT_MS = 30_000;

function mcpEntry(server: McpServer): JsonObject {
  const always = { enabled: true, timeout: MCP_TIMEOUT_MS };
  if (server.transport === 'stdio') {
    const { command, args, env } = server;
    return { type: 'local', command: [command, ...args], environment: env, ...always };
  }
  // It finds out by itself which of the two ways over HTTP the server speaks. Nobody could sign in with a browser.
  return { type: 'remote', url: server.url, headers: server.headers, oauth: false, ...always };
}

/** JSON in which nothing looks like `{env:…}` or `{file:…}`, which opencode would replace. */
function asLiteral(config: JsonObject): string {
  return JSON.stringify(config).replaceAll(/\{(?=env:|file:)/g, '\\u007b');
}
