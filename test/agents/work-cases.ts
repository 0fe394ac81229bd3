import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { environmentPrompt, skillDescription } from './agent-guidance.ts';
import type { AgentCase } from './agent-under-test.ts';
import { pong } from './mcp-answer.ts';
import { lastRequest, said } from './observe.ts';

/** What agents do when all goes well. */
export const workCases: AgentCase[] = [
  {
    feature: 'turn',
    name: 'changes a file with a tool, and what it says is in the history and comes live',
    async run(stage, { history }) {
      const turn = await stage.chat.run([
        { shell: 'echo changed > turn.txt' },
        { text: 'The file is there now, as you wished.' },
      ]);
      expect(turn).toMatchObject({ outcome: 'completed', error: null });
      expect(readFileSync(path.join(stage.folder, 'turn.txt'), 'utf8')).toBe('changed\n');
      expect(said(turn)).toContain('The file is there now, as you wished.');
      expect(turn.deltas).toContainEqual(
        expect.objectContaining({ type: 'tool', input: expect.objectContaining({}) }),
      );
      expect(turn.deltas).toContainEqual(expect.objectContaining({ type: 'tool_result', isError: false }));
      const types = turn.messages.map(({ type }) => type);
      expect(inOrder(types, history)).toEqual(history);
      expect(stage.gateway.refused).toEqual([]);
    },
  },
  {
    feature: 'turn',
    name: 'works in several chats beside each other',
    async run(stage) {
      const chats = [
        { name: 'one', chat: stage.chat },
        { name: 'two', chat: stage.openChat() },
      ];
      const turns = await Promise.all(
        chats.map(({ name, chat }) =>
          chat.run([{ shell: `echo ${name} > ${name}.txt` }, { text: `I am ${name}.` }]),
        ),
      );
      expect(turns.map(({ outcome }) => outcome)).toEqual(['completed', 'completed']);
      expect(turns.map((turn) => said(turn).includes('I am one.'))).toEqual([true, false]);
      for (const { name } of chats)
        expect(readFileSync(path.join(stage.folder, `${name}.txt`), 'utf8')).toBe(`${name}\n`);
    },
  },
  {
    feature: 'thoughts',
    name: 'shows what the model thinks',
    async run(stage) {
      const turn = await stage.chat.run([{ think: 'A deep thought.', text: 'Said.' }]);
      expect(said(turn, 'thinking')).toContain('A deep thought.');
      expect(said(turn)).toBe('Said.');
    },
  },
  {
    feature: 'images',
    name: 'hands images over to the model',
    async run(stage, agent) {
      const { chat } = stage;
      await chat.run([{ text: 'seen' }], { images: [{ mediaType: 'image/png', dataBase64: PIXEL }] });
      expect(JSON.stringify(lastRequest(stage, agent))).toContain(PIXEL);
    },
  },
  {
    feature: 'model',
    name: 'asks the model that each message names',
    async run(stage, agent) {
      const { chat } = stage;
      const models = [];
      for (const model of [null, ...agent.models, null]) {
        await chat.run([{ text: 'ok' }], { model });
        models.push(lastRequest(stage, agent).model);
      }
      expect(models.slice(1, 3)).toEqual(agent.models);
      expect(models[3]).toBe(models[0]);
    },
  },
  {
    feature: 'thinking',
    name: 'thinks as hard as each message says',
    async run(stage, agent) {
      const { chat } = stage;
      for (const thinkingLevel of ['low', 'medium', 'high', 'max', 'low'] as const) {
        await chat.run([{ text: 'ok' }], { thinkingLevel });
        expect(agent.request.effort(lastRequest(stage, agent))).toEqual(agent.efforts[thinkingLevel]);
      }
    },
  },
  {
    feature: 'fast',
    name: 'is fast for the messages that want it',
    async run(stage, agent) {
      const { chat } = stage;
      for (const fastMode of [false, true, false]) {
        await chat.run([{ text: 'ok' }], { fastMode, model: agent.fastModel ?? null });
        expect(agent.request.isFast(lastRequest(stage, agent))).toBe(fastMode);
      }
    },
  },
  {
    feature: 'plan',
    name: 'changes nothing in plan mode, shows the plan, and goes on to work with the next message',
    async run(stage, { planSteps }) {
      const { chat } = stage;
      const writing = [
        { shell: 'echo x > planned.txt' },
        { write: [path.join(stage.folder, 'planned-2.txt'), 'x'] },
      ];
      const plan = await chat.run([...writing, ...planSteps], { planMode: true });
      expect(plan).toMatchObject({ outcome: 'completed' });
      expect(
        ['planned.txt', 'planned-2.txt'].map((name) => existsSync(path.join(stage.folder, name))),
      ).toEqual([false, false]);
      expect(plan.deltas).toContainEqual(expect.objectContaining({ type: 'plan' }));
      await chat.run([{ shell: 'echo x > planned.txt' }, { text: 'done' }]);
      expect(existsSync(path.join(stage.folder, 'planned.txt'))).toBe(true);
    },
  },
  {
    feature: 'systemPrompt',
    name: 'tells the model what the environment wants it to know',
    async run(stage, agent) {
      await stage.chat.run([{ text: 'ok' }]);
      expect(JSON.stringify(lastRequest(stage, agent))).toContain(environmentPrompt);
    },
  },
  ...(['stdio', 'http', 'sse'] as const).map(
    (server): AgentCase => ({
      feature: server,
      name: `uses the tools of an MCP server over ${server}, and of the service's own`,
      async run(stage, agent) {
        const steps = [agent.ping(server), agent.ping('replica-workspace'), { text: 'ok' }];
        const turn = await stage.chat.run(steps);
        expect(turn.outcome).toBe('completed');
        const results = JSON.stringify(lastRequest(stage, agent));
        expect(results).toContain(pong(server));
        expect(results).toContain(pong('own'));
      },
    }),
  ),
  {
    feature: 'skills',
    name: 'knows the skills of the workspace',
    async run(stage, agent) {
      await stage.chat.run([{ text: 'ok' }]);
      expect(JSON.stringify(lastRequest(stage, agent))).toContain(skillDescription);
    },
  },
  {
    feature: 'commands',
    name: 'says what can be written after a slash',
    async run(stage, { agent }) {
      await stage.chat.run([{ text: 'ok' }]);
      const report = stage.reports.findLast(({ type }) => type === 'agent.commands');
      expect(report?.payload).toMatchObject({ agent: agent.name });
      const commands = report?.type === 'agent.commands' ? report.payload.commands : [];
      expect(commands.length).toBeGreaterThan(0);
      expect(commands.filter(({ command }) => !/^[\w:.-]+$/.test(command))).toEqual([]);
    },
  },
];

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Those of the wanted that are there, in the order in which they are wanted. */
function inOrder(there: string[], wanted: string[]): string[] {
  let from = 0;
  return wanted.filter((item) => {
    const at = there.indexOf(item, from);
    if (at >= 0) from = at + 1;
    return at >= 0;
  });
}
