import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { place } from '../../src/engine/place.ts';
import { startGitHost } from './git-host.ts';
import { bindRepository, startLiveWorld } from './live.ts';
import { type RecordedRequest, startScriptedModel } from './scripted-model.ts';
import { skillFile } from './skill-registry.ts';

export type AgentWorld = Awaited<ReturnType<typeof startAgentWorld>>;
export type LiveAgent = (typeof liveAgents)[number];

/** What an environment and its repository tell agents. */
export const guidance = {
  ofEnvironment: 'The word of this environment is marmalade.',
  ofRepository: 'The word of this repository is porridge.',
  skill: 'How sheep are counted here.',
  variable: 'good morning',
} as const;

/** The agents that speak to a model of ours, and what they differ in. */
export const liveAgents = [
  {
    agent: 'claude',
    /** Types of history that a turn with one tool has at least, after the user's own message. */
    history: ['claude-system', 'claude-assistant', 'claude-user', 'claude-result'],
    /** Whether an entry is what the user has said, be it as the service or as the agent keeps it. */
    isSaidByUser: ({ type, payload }: Entry) =>
      type === 'claude-user' && !JSON.stringify(payload).includes('"tool_use_id"'),
    isAsked: ({ path, body }: RecordedRequest) => path.startsWith('/v1/messages') && body?.tools?.length > 0,
    keyOf: ({ headers }: RecordedRequest) => headers['x-api-key'],
    baseUrl: (modelUrl: string) => modelUrl,
    /** The step of a script that calls a tool of an MCP server. */
    use: ({ server, tool, args }: ServerTool) => ({ tool: `mcp__${server}__${tool}`, args }),
  },
  {
    agent: 'codex',
    history: ['event_msg', 'response_item'],
    isSaidByUser: ({ payload }: Entry) => payload.type === 'user_message' || payload.role === 'user',
    isAsked: ({ path }: RecordedRequest) => path === '/v1/responses',
    keyOf: ({ headers }: RecordedRequest) => headers.authorization?.replace(/^Bearer /, ''),
    baseUrl: (modelUrl: string) => `${modelUrl}/v1`,
    use: ({ server, tool, args }: ServerTool) => {
      const name = `mcp__${server.replaceAll('-', '_')}__${tool}`;
      const input = `text(JSON.stringify(await tools.${name}(${JSON.stringify(args)})));`;
      return { tool: 'exec', custom: true, input };
    },
  },
  {
    agent: 'opencode',
    history: ['opencode-assistant'],
    isSaidByUser: ({ type }: Entry) => type === 'opencode-user',
    isAsked: ({ path, body }: RecordedRequest) => path === '/v1/chat/completions' && body?.tools?.length > 0,
    keyOf: ({ headers }: RecordedRequest) => headers.authorization?.replace(/^Bearer /, ''),
    baseUrl: (modelUrl: string) => `${modelUrl}/v1`,
    use: ({ server, tool, args }: ServerTool) => ({ tool: `${server}_${tool}`, args }),
  },
] as const;

type ServerTool = { server: string; tool: string; args: object };
type Entry = { type: string; payload: Record<string, unknown> };

/**
 * A service with real sandboxes and real agents, and an environment with everything that agents can be given. The
 * offline model answers until the organization has a credential; then a model outside does, which records what it is
 * asked.
 */
export async function startAgentWorld() {
  await using starting = new AsyncDisposableStack();
  const host = await startGitHost();
  starting.defer(() => host.close());
  const model = await startScriptedModel();
  starting.defer(() => model.close());
  const logged: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
  const world = await startLiveWorld(
    { REPLICA_AGENT_RUNNER: 'real', REPLICA_OFFLINE_MODEL: 'true' },
    { log },
  );
  starting.defer(() => world.close());
  const org = await world.org();

  async function create(path: string, body: object): Promise<void> {
    const made = await org.call('POST', path, body);
    if (made.status >= 300) throw new Error(`${path} answered ${JSON.stringify(made.body)}`);
  }

  await host.createRepository('app', {
    'README.md': 'hello\n',
    'replica.json': JSON.stringify({ systemPrompt: guidance.ofRepository }),
  });
  await host.createRepository('skills', {
    'counting/SKILL.md': skillFile('counting-sheep', guidance.skill),
  });
  const environmentId = await bindRepository(org, host, 'app');
  const at = `/v1/environments/${environmentId}`;
  await org.call('PATCH', at, { system_prompt: guidance.ofEnvironment });
  await create(`${at}/variables`, { key: 'GREETING', value: guidance.variable });
  await create(`${at}/skills-registries`, { url: host.url('skills') });
  for (const file of ['agents/mcp-process.ts', 'agents/mcp-answer.ts', 'live/search-sandbox.ts'])
    await create(`${at}/files`, {
      name: path.basename(file),
      path: inHome(file),
      content: readTestFile(file),
    });
  await create(`${at}/mcps`, {
    name: 'words',
    transport: 'stdio',
    config: {
      command: place.node,
      args: [path.posix.join(place.home, 'agents/mcp-process.ts')],
      env: { MCP_NAME: 'words' },
    },
  });
  const everything = starting.move();

  return {
    world,
    org,
    host,
    model,
    environmentId,
    /** All that the service has logged so far. */
    log: () => logged.join(''),

    /** Gives the organization a key for the agent, and the recording model as its provider. */
    async setCredential({ agent, baseUrl }: LiveAgent, apiKey: string): Promise<void> {
      const settings = { api_key: apiKey, base_url: baseUrl(model.url) };
      const set = await org.call('PUT', `/v1/organization/coding-agents/${agent}`, settings);
      if (set.status !== 200) throw new Error(`not set: ${JSON.stringify(set.body)}`);
    },

    /** What the recording model was asked last by an agent, titles and the like aside. */
    lastAsked({ isAsked }: LiveAgent): RecordedRequest {
      const last = model.requests().findLast((request) => isAsked(request));
      if (!last) throw new Error('the model was not asked');
      return last;
    },

    close: () => everything.disposeAsync(),
  };
}

function readTestFile(file: string): string {
  return readFileSync(path.join(import.meta.dirname, '..', file), 'utf8');
}

function inHome(file: string): string {
  return `~/${file}`;
}
