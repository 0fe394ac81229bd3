import { once } from 'node:events';
import { type IncomingMessage, request as send } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { ModelAgent } from '../../src/model/api.ts';
import { startModelProvider } from '../world/model-provider.ts';
import { until } from '../world/world.ts';
import { type StagedSandbox, startEngineStage } from './engine-stage.ts';

export type ModelStage = Awaited<ReturnType<typeof startModelStage>>;
export type Asking = {
  sandbox: StagedSandbox;
  agent: ModelAgent;
  chatId: string;
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
};

/** How each agent asks for an answer, and what of it arrives at its provider. */
export const apis = {
  claude: { path: '/v1/messages', base: '', upstream: '/v1/messages', header: 'x-api-key', scheme: '' },
  codex: {
    path: '/v1/responses',
    base: '/v1',
    upstream: '/v1/responses',
    header: 'authorization',
    scheme: 'Bearer ',
  },
  opencode: {
    path: '/v1/chat/completions',
    base: '/api/v1',
    upstream: '/api/v1/chat/completions',
    header: 'authorization',
    scheme: 'Bearer ',
  },
} as const satisfies Record<ModelAgent, object>;

export const agents = Object.keys(apis) as ModelAgent[];
export const keyOf = (agent: ModelAgent) => `organizations-key-for-${agent}`;

/** A whole service whose organization has set a stand-in as provider of its models. */
export async function startModelStage(environment: Record<string, string> = {}) {
  await using starting = new AsyncDisposableStack();
  const stage = await startEngineStage({ REPLICA_ALLOW_PRIVATE_TARGETS: 'true', ...environment });
  starting.defer(stage.close);
  const provider = await startModelProvider();
  starting.defer(provider.close);
  const { org, socketPath, world } = stage;

  const setKey = (agent: ModelAgent, baseUrl = `${provider.url}${apis[agent].base}`) =>
    org.call('PUT', `/v1/organization/coding-agents/${agent}`, { api_key: keyOf(agent), base_url: baseUrl });
  for (const agent of agents) await setKey(agent);

  async function chat(sandbox: StagedSandbox, agent: ModelAgent): Promise<string> {
    const { body } = await org.call('POST', `/v1/replica/${sandbox.replicaId}/chats`, { provider: agent });
    return body.id;
  }

  /** The head of the answer; its body is for the caller to read. */
  async function ask(asking: Asking): Promise<IncomingMessage> {
    const { sandbox, agent, chatId, method = 'POST', path = apis[agent].path, body, headers } = asking;
    const outgoing = send({
      socketPath,
      method,
      path: `/model/${agent}/${chatId}${path}`,
      agent: false,
      headers: { authorization: `Bearer ${sandbox.secret}`, 'content-type': 'application/json', ...headers },
    });
    const answered = once(outgoing, 'response');
    outgoing.end(body ?? (method === 'POST' ? '{}' : undefined));
    // A gateway that has heard enough closes the connection under a body that is still being sent.
    outgoing.on('error', () => {});
    const [response] = (await answered) as [IncomingMessage];
    response.on('error', () => {});
    return response;
  }

  async function askWhole(
    asking: Asking,
  ): Promise<{ status: number; body: Buffer; response: IncomingMessage }> {
    const response = await ask(asking);
    return { status: response.statusCode ?? 0, body: await buffer(response), response };
  }

  const rows = (replicaId: string) =>
    world.db
      .selectFrom('model_usage')
      .selectAll()
      .where('replica_id', '=', replicaId)
      .orderBy('at')
      .orderBy('id')
      .execute();

  const everything = starting.move();
  return {
    ...stage,
    provider,
    setKey,
    chat,
    ask,
    askWhole,
    rows,
    /** What was noted of a replica, once there is so much of it. */
    noted: (replicaId: string, count: number) =>
      until(async () => {
        const found = await rows(replicaId);
        return found.length >= count && found;
      }).then((found) => found || []),
    close: () => everything.disposeAsync(),
  };
}
