import { randomUUID } from 'node:crypto';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { openGatewayPort } from '../../src/engine/gateway-port.ts';
import { startGitHostApi } from '../world/git-host-api.ts';
import { type StagedSandbox, startEngineStage } from './engine-stage.ts';

export type McpStage = Awaited<ReturnType<typeof startMcpStage>>;
export type ToolAnswer = { isError: boolean; text: string };

export const TOKEN = 'token-of-the-organization';
export const kinds = ['github', 'gitlab'] as const;

/** A whole service whose repositories are on stand-ins of GitHub and GitLab, and the MCP client of an agent. */
export async function startMcpStage() {
  await using starting = new AsyncDisposableStack();
  const stage = await startEngineStage({ REPLICA_ALLOW_PRIVATE_TARGETS: 'true' });
  starting.defer(stage.close);
  const api = await startGitHostApi({ token: TOKEN });
  starting.defer(api.close);
  // What the engine opens for programs that can only speak TCP.
  const gateway = await openGatewayPort({ port: 0, socket: stage.socketPath });
  starting.defer(() => gateway.close());
  const { org, world } = stage;
  const urls = { github: api.githubUrl, gitlab: api.gitlabUrl };
  for (const kind of kinds) {
    const body = { kind, api_url: urls[kind] };
    await org.call('PUT', `/v1/organization/git-hosts/${kind}.test.example`, body);
  }
  const credentials = new Map<string, string>();

  /** Connects a repository and gives its id. */
  async function connect({
    host,
    token,
    name,
  }: {
    host: string;
    token: string | null;
    name: string;
  }): Promise<string> {
    if (token !== null && !credentials.has(token)) {
      const { body } = await org.call('POST', '/v1/repository-credentials', { name: token, token });
      credentials.set(token, body.credential.id);
    }
    const { body } = await org.call('POST', '/v1/repositories', {
      name,
      url: `https://${host}/team/app`,
      credential_id: token && credentials.get(token),
    });
    return body.repository.id;
  }

  /** A workspace with repositories, on the branch `work` of each. */
  async function workspace(repositories: string[]): Promise<StagedSandbox> {
    const sandbox = await stage.sandbox({ repositories });
    await world.db
      .updateTable('replica_repository')
      .set({ branch: 'work', default_branch: 'main' })
      .where('replica_id', '=', sandbox.replicaId)
      .execute();
    return sandbox;
  }

  /** The client that agents have, of the SDK itself. */
  async function client({ secret }: Pick<StagedSandbox, 'secret'>, chatId: string = randomUUID()) {
    const agent = new Client({ name: 'test', version: '1' });
    const url = new URL(`http://127.0.0.1:${gateway.port}/mcp/${chatId}`);
    const requestInit = { headers: { authorization: `Bearer ${secret}` } };
    const transport = new StreamableHTTPClientTransport(url, { requestInit });
    // The optional parts of the SDK's own types are not exact.
    await agent.connect(transport as Parameters<typeof agent.connect>[0]);
    return agent;
  }

  /** Uses a tool and gives its one text. */
  async function use(
    sandbox: StagedSandbox,
    name: string,
    args: object = {},
    chatId?: string,
  ): Promise<ToolAnswer> {
    const agent = await client(sandbox, chatId);
    try {
      const answer = await agent.callTool({ name, arguments: { ...args } });
      const [{ text } = { text: '' }] = answer.content as { text: string }[];
      if (JSON.stringify(answer).includes(TOKEN)) throw new Error('the answer of a tool has the token in it');
      return { isError: answer.isError === true, text };
    } finally {
      await agent.close();
    }
  }

  const everything = starting.move();
  return { ...stage, api, connect, workspace, client, use, close: () => everything.disposeAsync() };
}
