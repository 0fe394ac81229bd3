import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ModelAgent } from '../../src/model/api.ts';
import type { StagedSandbox } from './engine-stage.ts';
import { type ModelStage, startModelStage } from './model-stage.ts';

let stage: ModelStage;
let sandbox: StagedSandbox;
beforeAll(async () => {
  stage = await startModelStage();
});
beforeEach(async () => {
  sandbox = await stage.sandbox();
});
afterAll(() => stage?.close());

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const anthropicStart = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    model: 'claude-sonnet-4-5-20250929',
    usage: {
      input_tokens: 100,
      cache_creation_input_tokens: 20,
      cache_read_input_tokens: 3_000,
      output_tokens: 1,
    },
  },
};
const responsesUsage = {
  input_tokens: 1_000,
  input_tokens_details: { cached_tokens: 600 },
  output_tokens: 50,
  output_tokens_details: { reasoning_tokens: 30 },
  total_tokens: 1_050,
};
const completionsUsage = {
  prompt_tokens: 500,
  completion_tokens: 20,
  total_tokens: 520,
  prompt_tokens_details: { cached_tokens: 100 },
};

/** What each provider says in a stream and in one piece, and what is noted of it. */
const told = {
  claude: {
    stream: [
      anthropicStart,
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi "usage"' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 40 } },
      { type: 'message_stop' },
    ],
    whole: { ...anthropicStart.message, usage: { ...anthropicStart.message.usage, output_tokens: 40 } },
    noted: {
      model: 'claude-sonnet-4-5-20250929',
      input_tokens: '100',
      output_tokens: '40',
      cache_read_tokens: '3000',
      cache_write_tokens: '20',
      cost_micros: '1875',
    },
  },
  codex: {
    stream: [
      { type: 'response.created', response: { model: 'gpt-5-codex', usage: null } },
      { type: 'response.output_text.delta', delta: 'Hi' },
      { type: 'response.completed', response: { model: 'gpt-5-codex', usage: responsesUsage } },
    ],
    whole: { id: 'resp_1', model: 'gpt-5-codex', usage: responsesUsage },
    noted: {
      model: 'gpt-5-codex',
      input_tokens: '400',
      output_tokens: '50',
      cache_read_tokens: '600',
      cache_write_tokens: '0',
      cost_micros: '1075',
    },
  },
  opencode: {
    stream: [
      { model: 'maker/mystery', choices: [{ delta: { content: 'Hi' } }] },
      { model: 'maker/mystery', choices: [], usage: completionsUsage },
    ],
    whole: { model: 'maker/mystery', choices: [], usage: { ...completionsUsage } },
    noted: {
      model: 'maker/mystery',
      input_tokens: '400',
      output_tokens: '20',
      cache_read_tokens: '100',
      cache_write_tokens: '0',
      cost_micros: null,
    },
  },
} satisfies Record<ModelAgent, object>;
const agents = Object.keys(told) as ModelAgent[];

function answerWith(type: string, text: string): void {
  stage.provider.behave((response) => void response.writeHead(200, { 'content-type': type }).end(text));
}

describe.each(agents)('an answer for %s', (agent) => {
  const { stream, whole, noted } = told[agent];

  test.each([
    ['a stream', 'text/event-stream; charset=utf-8', stream.map(event).join('')],
    ['one piece', 'application/json', JSON.stringify(whole)],
  ])('as %s is noted with the message it belongs to', async (_what, type, text) => {
    const chatId = await stage.chat(sandbox, agent);
    answerWith(type, text);
    await stage.askWhole({ sandbox, agent, chatId });
    const sent = await stage.org.call('POST', `/v1/replica/${sandbox.replicaId}/messages`, {
      chat_id: chatId,
      message: 'hello',
    });
    await stage.askWhole({ sandbox, agent, chatId });
    const about = { organization_id: stage.org.id, chat_id: chatId, agent, is_offline: false, ...noted };
    expect(await stage.noted(sandbox.replicaId, 2)).toMatchObject([
      { ...about, message_id: null },
      { ...about, message_id: sent.body.message_id },
    ]);
  });

  test('that is refused, or only counts or lists, is not noted', async () => {
    const chatId = await stage.chat(sandbox, agent);
    stage.provider.behave((response) => void response.writeHead(429).end(JSON.stringify(whole)));
    await stage.askWhole({ sandbox, agent, chatId });
    answerWith('application/json', JSON.stringify(whole));
    await stage.askWhole({ sandbox, agent, chatId, method: 'GET', path: '/v1/models' });
    if (agent === 'claude')
      await stage.askWhole({ sandbox, agent, chatId, path: '/v1/messages/count_tokens' });
    await stage.askWhole({ sandbox, agent, chatId });
    expect(await stage.noted(sandbox.replicaId, 1)).toHaveLength(1);
  });

  test('that the agent breaks off is noted as far as the provider has told of it', async () => {
    const chatId = await stage.chat(sandbox, agent);
    const [first = {}] = stream;
    stage.provider.behave((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(event(first));
    });
    const response = await stage.ask({ sandbox, agent, chatId });
    await once(response, 'data');
    response.destroy();
    const nothing = { input_tokens: '0', output_tokens: '0', cache_read_tokens: '0', cost_micros: null };
    const begun = { output_tokens: '1', cost_micros: '1290' };
    expect(await stage.noted(sandbox.replicaId, 1)).toMatchObject([
      { ...noted, ...(agent === 'claude' ? begun : nothing) },
    ]);
  });

  test('that nobody could make sense of passes all the same, and what makes sense in it is noted', async () => {
    const chatId = await stage.chat(sandbox, agent);
    const rubbish = [
      'data: {"usage": nonsense\n',
      'data: [1,2\n\n',
      Buffer.from([0xff, 0xfe, 0x00, 0x0a]),
      `data: {"usage":{"output_tokens":7},"pad":"${'x'.repeat(10_000_000)}"}\n\n`,
    ].map((piece) => Buffer.from(piece));
    const text = Buffer.from(stream.map((data) => event({ ...data, frog: '🐸' })).join(''));
    const answer = Buffer.concat([...rubbish, text, Buffer.from('data: {"usage"')]);
    stage.provider.behave(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const cut = answer.length - text.length;
      response.write(answer.subarray(0, cut));
      // Every character of more than one byte comes in two pieces.
      for (let at = cut; at < answer.length; at += 3) {
        if (!response.write(answer.subarray(at, at + 3))) await once(response, 'drain');
      }
      response.end();
    });
    const response = await stage.ask({ sandbox, agent, chatId });
    expect((await buffer(response)).equals(answer)).toBe(true);
    expect(await stage.noted(sandbox.replicaId, 1)).toMatchObject([noted]);
  });
});

test('an answer without a word about usage is noted as one whose cost is not known', async () => {
  const chatId = await stage.chat(sandbox, 'opencode');
  answerWith('text/event-stream', event({ model: 'gpt-5', choices: [{ delta: { content: 'Hi' } }] }));
  await stage.askWhole({ sandbox, agent: 'opencode', chatId });
  expect(await stage.noted(sandbox.replicaId, 1)).toMatchObject([
    { model: 'gpt-5', input_tokens: '0', output_tokens: '0', cost_micros: null },
  ]);
});

test('what a router says of the cost counts where no price is known', async () => {
  const chatId = await stage.chat(sandbox, 'opencode');
  const usage = { ...completionsUsage, cost: 0.00014 };
  answerWith('application/json', JSON.stringify({ model: 'maker/mystery', usage }));
  await stage.askWhole({ sandbox, agent: 'opencode', chatId });
  expect(await stage.noted(sandbox.replicaId, 1)).toMatchObject([{ cost_micros: '140' }]);
});
