import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ModelAgent } from '../../src/model/api.ts';
import { until } from '../world/world.ts';
import type { StagedSandbox } from './engine-stage.ts';
import { agents, apis, keyOf, type ModelStage, startModelStage } from './model-stage.ts';

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
});
afterAll(() => stage?.close());

const asking = (agent: ModelAgent) => ({ sandbox, agent, chatId: chats[agent] });
const stream = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' });

describe.each(agents)('the model API of %s', (agent) => {
  test('passes request and answer on, byte for byte', async () => {
    const [question, answer] = [randomBytes(300_000), randomBytes(700_000)];
    stage.provider.behave((response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'request-id': 'req_1' }).end(answer);
    });
    const path = `${apis[agent].path}?beta=true`;
    const { status, body, response } = await stage.askWhole({ ...asking(agent), path, body: question });
    expect(status).toBe(200);
    expect(body.equals(answer)).toBe(true);
    expect(response.headers).toMatchObject({ 'content-type': 'application/json', 'request-id': 'req_1' });
    const [received] = stage.provider.requests;
    expect(received).toMatchObject({ method: 'POST', url: `${apis[agent].upstream}?beta=true` });
    expect(received?.body.equals(question)).toBe(true);
  });

  test("sends the organization's key, and nothing of the sandbox", async () => {
    await stage.askWhole({
      ...asking(agent),
      headers: {
        authorization: `Bearer ${sandbox.secret}`,
        'x-api-key': sandbox.secret,
        accept: 'text/event-stream',
        'user-agent': 'agent/1.0',
        'anthropic-version': '2023-06-01',
        'anthropic-beta': 'context-1m',
        'content-length': '2',
        cookie: 'session=1',
        forwarded: 'for=10.0.0.1',
        'x-forwarded-for': '10.0.0.1',
        'x-workspace-id': sandbox.replicaId,
        'openai-organization': 'somebody-else',
        'proxy-authorization': 'Basic eDp5',
        'proxy-connection': 'keep-alive',
        te: 'trailers',
        'keep-alive': 'timeout=5',
      },
    });
    const { header, scheme } = apis[agent];
    const { headers } = stage.provider.requests[0] ?? {};
    expect(headers).toEqual({
      host: new URL(stage.provider.url).host,
      connection: 'keep-alive',
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
      'anthropic-beta': 'context-1m',
      'anthropic-version': '2023-06-01',
      'content-length': '2',
      'content-type': 'application/json',
      'user-agent': 'agent/1.0',
      [header]: `${scheme}${keyOf(agent)}`,
    });
    expect(JSON.stringify(stage.provider.requests)).not.toContain(sandbox.secret);
  });

  test('passes each piece of a stream on at once', async () => {
    stage.provider.behave((response) => void stream(response).flushHeaders());
    const response = await stage.ask(asking(agent));
    expect(response.headers['content-type']).toBe('text/event-stream');
    const pieces = response.iterator()[Symbol.asyncIterator]();
    for (const text of ['event: one\n', 'data: {"delta":"half a 🐸', '"}\n\n']) {
      stage.provider.lastAnswer().write(text);
      expect(String((await pieces.next()).value)).toBe(text);
    }
    stage.provider.lastAnswer().end();
    expect((await pieces.next()).done).toBe(true);
  });

  test.each([
    [401, {}],
    [429, { 'retry-after': '7', 'x-should-retry': 'true' }],
    [500, {}],
    [529, { 'request-id': 'req_9' }],
  ])('passes %i on with what the provider says of it', async (code, headers) => {
    const sentence = JSON.stringify({ error: { message: `that is ${code}` } });
    stage.provider.behave((response) => {
      response
        .writeHead(code, { 'content-type': 'application/json', 'set-cookie': 'a=b', ...headers })
        .end(sentence);
    });
    const { status, body, response } = await stage.askWhole(asking(agent));
    expect({ status, body: body.toString() }).toEqual({ status: code, body: sentence });
    expect(response.headers).toMatchObject(headers);
    expect(response.headers).not.toHaveProperty('set-cookie');
  });
});

test('the secret of the sandbox may come in the header that Anthropic has for keys', async () => {
  stage.provider.behave((response) => void response.writeHead(200).end('{}'));
  const headers = { authorization: '', 'x-api-key': sandbox.secret };
  expect((await stage.askWhole({ ...asking('claude'), headers })).status).toBe(200);
  const wrong = { authorization: '', 'x-api-key': `${sandbox.secret}x` };
  expect((await stage.askWhole({ ...asking('claude'), headers: wrong })).status).toBe(401);
});

test('the list of models and the count of tokens are open too', async () => {
  stage.provider.behave((response) => void response.writeHead(200).end('{"data":[]}'));
  for (const agent of agents) {
    const listed = await stage.askWhole({ ...asking(agent), method: 'GET', path: '/v1/models?limit=5' });
    expect([listed.status, listed.body.toString()]).toEqual([200, '{"data":[]}']);
  }
  const counted = await stage.askWhole({ ...asking('claude'), path: '/v1/messages/count_tokens' });
  expect(counted.status).toBe(200);
  expect(stage.provider.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'GET /v1/models?limit=5',
    'GET /v1/models?limit=5',
    'GET /api/v1/models?limit=5',
    'POST /v1/messages/count_tokens',
  ]);
});

test('an address with the version at its end is the same as one without', async () => {
  stage.provider.behave((response) => void response.writeHead(200).end('{}'));
  await stage.setKey('claude', `${stage.provider.url}/v1`);
  await stage.askWhole(asking('claude'));
  await stage.setKey('claude');
  expect(stage.provider.requests[0]?.url).toBe('/v1/messages');
});

test('whoever looks whether somebody is there is answered here', async () => {
  for (const path of ['', '/', '/v1/messages']) {
    const { status, body } = await stage.askWhole({ ...asking('claude'), method: 'HEAD', path });
    expect([status, body.length]).toEqual([200, 0]);
  }
  expect(stage.provider.requests).toEqual([]);
});

test('a provider is read no faster than its agent reads', async () => {
  const piece = Buffer.alloc(65_536, 'x');
  const total = 32 * 1_048_576;
  let written = 0;
  stage.provider.behave(async (response) => {
    stream(response);
    for (; written < total; written += piece.length) {
      if (!response.write(piece)) await once(response, 'drain');
    }
    response.end();
  });
  const response = await stage.ask(asking('claude'));
  let before = -1;
  await until(
    () => {
      const isStill = written > 0 && written === before;
      before = written;
      return isStill;
    },
    { intervalMs: 300 },
  );
  expect(written).toBeLessThan(total / 2);
  expect((await buffer(response)).length).toBe(total);
});

test('what an agent asks for ends at its provider when the agent goes away', async () => {
  stage.provider.behave((response) => void stream(response).write(': hello\n\n'));
  const response = await stage.ask(asking('codex'));
  await once(response, 'data');
  const ended = once(stage.provider.lastAnswer(), 'close', { signal: AbortSignal.timeout(5_000) });
  response.destroy();
  await ended;
  expect(stage.provider.lastAnswer().writableFinished).toBe(false);
});

test('an agent that goes away while the model thinks ends the request too', async () => {
  stage.provider.behave(() => {});
  const outgoing = sandbox.begin({ method: 'POST', path: `/model/claude/${chats.claude}/v1/messages` });
  outgoing.end('{}');
  await until(() => stage.provider.requests.length === 1);
  const ended = once(stage.provider.lastAnswer(), 'close', { signal: AbortSignal.timeout(5_000) });
  outgoing.destroy();
  await ended;
});

test('an answer that the provider breaks off is broken off for the agent', async () => {
  stage.provider.behave((response) => {
    stream(response).write('data: {}\n\n', () => response.destroy());
  });
  const response = await stage.ask(asking('opencode'));
  await expect(buffer(response)).rejects.toThrow('aborted');
});
