import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createModelRoute } from '../../src/gateway/model.ts';
import { newId } from '../../src/lib/ids.ts';
import type { ModelAgent } from '../../src/model/api.ts';
import { until } from '../world/world.ts';
import { answerOf, type StagedSandbox } from './engine-stage.ts';
import { agents, apis, type ModelStage, startModelStage } from './model-stage.ts';
import { startStage } from './stage.ts';

let stage: ModelStage;
let sandbox: StagedSandbox;
let chats: Record<ModelAgent, string>;
beforeAll(async () => {
  stage = await startModelStage();
  sandbox = await stage.sandbox();
  chats = {
    claude: await stage.chat(sandbox, 'claude'),
    codex: await stage.chat(sandbox, 'codex'),
    opencode: await stage.chat(sandbox, 'opencode'),
  };
});
beforeEach(() => {
  stage.provider.requests.length = 0;
  stage.provider.behave((response) => void response.writeHead(200).end('{}'));
});
afterAll(() => stage?.close());

const asking = (agent: ModelAgent) => ({ sandbox, agent, chatId: chats[agent] });

/** A refusal as each provider writes its own. */
const refusal = (agent: ModelAgent, status: number, type: string, message: unknown) =>
  agent === 'claude'
    ? { type: 'error', error: { type, message } }
    : { error: { message, type: 'invalid_request_error', code: String(status) } };

describe.each(agents)('the model API of %s', (agent) => {
  const refused = async (asked: Partial<Parameters<ModelStage['ask']>[0]>) => {
    const { status, body } = await stage.askWhole({ ...asking(agent), ...asked });
    return { status, body: JSON.parse(body.toString()) };
  };

  test.each([
    ['GET', '/v1/messages'],
    ['GET', '/v1/responses'],
    ['POST', '/v1/files'],
    ['POST', '/v1/organizations/api_keys'],
    ['DELETE', '/v1/models'],
    ['POST', '/v1/messages%2f'],
    ['POST', '//v1/messages'],
    ['POST', '/'],
    ['POST', ''],
  ])('is not open for %s %s, and says so as its provider would', async (method, path) => {
    const sentence = `The model API is not open for ${method} ${path}.`;
    expect(await refused({ method, path })).toEqual({
      status: 404,
      body: refusal(agent, 404, 'not_found_error', sentence),
    });
  });

  test('is for chats of the agent in the workspace only', async () => {
    const elsewhere = await stage.chat(await stage.sandbox(), agent);
    const another = chats[agent === 'claude' ? 'codex' : 'claude'];
    for (const chatId of [elsewhere, another, newId(), 'nonsense', "'", '%00']) {
      const sentence = 'There is no such chat in this workspace.';
      expect(await refused({ chatId }), chatId).toEqual({
        status: 404,
        body: refusal(agent, 404, 'not_found_error', sentence),
      });
    }
    expect(stage.provider.requests).toEqual([]);
  });

  test('says where to set the credential when the organization has none', async () => {
    await stage.org.call('DELETE', `/v1/organization/coding-agents/${agent}`);
    const answer = await refused({});
    await stage.setKey(agent);
    const sentence = `The organization has no credential for ${agent}; an admin sets it with PUT /v1/organization/coding-agents/${agent}.`;
    expect(answer).toEqual({ status: 403, body: refusal(agent, 403, 'permission_error', sentence) });
  });

  test('does not follow its provider to another address', async () => {
    stage.provider.behave((response) => {
      response.writeHead(307, { location: `${stage.provider.url}/elsewhere` }).end('there');
    });
    const { status, body } = await refused({});
    expect([status, body.error.message]).toEqual([502, expect.stringContaining('redirects')]);
    expect(stage.provider.requests).toHaveLength(1);
  });

  test('says that its provider is down', async () => {
    await stage.setKey(agent, await closedAddress());
    const answer = await refused({ body: 'x'.repeat(500_000) });
    await stage.setKey(agent);
    const sentence = 'The model provider cannot be reached.';
    expect(answer).toEqual({ status: 502, body: refusal(agent, 502, 'api_error', sentence) });
  });

  test('takes no body that is larger than any provider does', async () => {
    const announced = sandbox.begin({
      method: 'POST',
      path: `/model/${agent}/${chats[agent]}${apis[agent].path}`,
      headers: { 'content-length': String(33 * 1_048_576) },
    });
    const { status, body } = await answerOf(announced);
    announced.destroy();
    const sentence = 'The body is larger than 33554432 bytes.';
    expect({ status, body: JSON.parse(body.toString()) }).toEqual({
      status: 413,
      body: refusal(agent, 413, 'request_too_large', sentence),
    });
  });
});

test('a body that grows too large while it comes ends the request at the provider too', async () => {
  const headers = { 'transfer-encoding': 'chunked' };
  const body = Buffer.alloc(33 * 1_048_576, ' ');
  const { status } = await stage.askWhole({ ...asking('codex'), headers, body });
  expect(status).toBe(413);
  expect(stage.provider.requests).toEqual([]);
});

test('more than is possible at once is refused, and possible again when something has ended', async () => {
  stage.provider.behave(() => {});
  const path = `/model/claude/${chats.claude}/v1/messages`;
  const open = Array.from({ length: 64 }, () => sandbox.begin({ method: 'POST', path }));
  for (const each of open) each.end('{}');
  await until(() => stage.provider.requests.length === open.length);
  const { status, body } = await stage.askWhole(asking('opencode'));
  expect([status, JSON.parse(body.toString()).error.message]).toEqual([
    429,
    expect.stringContaining('too much at once'),
  ]);
  for (const each of open) each.destroy();
  stage.provider.behave((response) => void response.writeHead(200).end('{}'));
  await until(async () => (await stage.askWhole(asking('opencode'))).status === 200);
});

test('a sandbox without a replica has no models', async () => {
  const warm = await stage.sandbox();
  const chatId = await stage.chat(warm, 'claude');
  await stage.world.db
    .updateTable('sandbox')
    .set({ replica_id: null })
    .where('id', '=', warm.sandboxId)
    .execute();
  const { status } = await stage.askWhole({ sandbox: warm, agent: 'claude', chatId });
  expect(status).toBe(404);
});

test('a provider that is not public is not reached unless the operator allows it', async () => {
  const chatId = newId();
  const own = await startStage({
    routes: ({ log }) => [
      createModelRoute({
        db: stage.world.db,
        turnOf: async () => ({ messageId: null, provider: 'claude' }),
        credentialOf: async () => ({ apiKey: 'key', baseUrl: stage.provider.url }),
        offlineModel: null,
        refuseSpending: async () => null,
        record: async () => {},
        allowPrivateTargets: false,
        log,
      }),
    ],
  });
  try {
    own.identity.replicaId = newId();
    const { status, body } = await own.call({
      method: 'POST',
      path: `/model/claude/${chatId}/v1/messages`,
      body: Buffer.from('{}'),
    });
    expect([status, JSON.parse(body.toString()).error.message]).toEqual([
      502,
      expect.stringContaining('does not allow private targets'),
    ]);
    expect(stage.provider.requests).toEqual([]);
  } finally {
    await own.close();
  }
});

async function closedAddress(): Promise<string> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 1}`;
}
