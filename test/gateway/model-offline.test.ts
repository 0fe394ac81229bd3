import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ModelAgent } from '../../src/model/api.ts';
import type { StagedSandbox } from './engine-stage.ts';
import { agents, type ModelStage, startModelStage } from './model-stage.ts';

let stage: ModelStage;
let sandbox: StagedSandbox;
beforeAll(async () => {
  stage = await startModelStage({ REPLICA_OFFLINE_MODEL: 'true', REPLICA_AGENT_RUNNER: 'real' });
  for (const agent of agents) await stage.org.call('DELETE', `/v1/organization/coding-agents/${agent}`);
  sandbox = await stage.sandbox();
});
afterAll(() => stage?.close());

const text = 'What is this about?';
/** A question without tools, as each agent puts it when it looks for a title. */
const questions: Record<ModelAgent, object> = {
  claude: { model: 'claude-x', max_tokens: 100, messages: [{ role: 'user', content: text }] },
  codex: {
    model: 'gpt-x',
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
  },
  opencode: { model: 'maker/x', messages: [{ role: 'user', content: text }] },
};

describe.each(agents)('the offline model for %s', (agent) => {
  test.each([
    [true, 'text/event-stream'],
    [false, 'application/json'],
  ])('answers where the organization has no credential (stream: %s)', async (isStreamed, type) => {
    const own = await stage.sandbox();
    const chatId = await stage.chat(own, agent);
    const body = JSON.stringify({ ...questions[agent], stream: isStreamed });
    const answer = await stage.askWhole({ sandbox: own, agent, chatId, body });
    expect(answer.status).toBe(200);
    expect(answer.response.headers['content-type']).toBe(type);
    expect(answer.body.toString()).toContain('Offline mode');
    const [noted] = await stage.noted(own.replicaId, 1);
    expect(noted).toMatchObject({ agent, is_offline: true, cost_micros: '0' });
    expect(Number(noted?.input_tokens)).toBeGreaterThan(0);
    expect(stage.provider.requests).toEqual([]);
  });

  test('says so loudly before anything else happens in a turn, and in the environment report', async () => {
    const chatId = await stage.chat(sandbox, agent);
    const path = `/v1/replica/${sandbox.replicaId}`;
    const sent = await stage.org.call('POST', `${path}/messages`, { chat_id: chatId, message: 'hello' });
    await sandbox.report({ type: 'turn.started', payload: { turnId: sent.body.message_id, chatId } });
    const events = (await sandbox.events()).filter(
      ({ payload }) => (payload as { chatId?: string }).chatId === chatId,
    );
    expect(events.slice(-2)).toMatchObject([
      { type: 'chat.turn.started' },
      {
        type: 'chat.turn.delta',
        payload: {
          event: { type: 'notice', text: expect.stringMatching(/^OFFLINE MODEL: .*without intelligence/) },
        },
      },
    ]);
    const { body } = await stage.org.call('GET', `${path}?include=environment`);
    expect(body.replica.environment.coding_agents[agent]).toEqual({
      available: true,
      auth_method: 'offline_model',
    });
  });

  test('is not asked as soon as the organization has a credential', async () => {
    stage.provider.behave((response) => void response.writeHead(200).end('{}'));
    await stage.setKey(agent);
    const chatId = await stage.chat(sandbox, agent);
    const { body } = await stage.askWhole({ sandbox, agent, chatId, body: JSON.stringify(questions[agent]) });
    await stage.org.call('DELETE', `/v1/organization/coding-agents/${agent}`);
    expect(body.toString()).toBe('{}');
    expect(stage.provider.requests.splice(0)).toHaveLength(1);
  });
});

test('what the offline model cannot make sense of is refused as a provider would', async () => {
  const chatId = await stage.chat(sandbox, 'claude');
  const { status, body } = await stage.askWhole({ sandbox, agent: 'claude', chatId, body: '{' });
  expect([status, JSON.parse(body.toString()).type]).toEqual([400, 'error']);
});
