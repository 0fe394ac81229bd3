import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, vi } from 'vitest';
import { type AgentStage, openAgentStage } from './agent-stage.ts';
import type { AgentCase } from './agent-under-test.ts';
import { lastRequest, said, waitForFile } from './observe.ts';

/** A model that calls each tool by itself, where codex's own choice writes programs that call them. */
export const plainModel = 'gpt-5.5';

/** The step of a script with which the model writes a program. */
export function program(input: string): object {
  return { tool: 'exec', custom: true, input };
}

/** What only codex does, or does in its own way. */
export const codexCases: AgentCase[] = [
  {
    feature: 'goal',
    name: 'pursues a goal lap after lap until it is reached',
    async run(stage) {
      // Without < and >, which codex writes in another way in a goal.
      const lap = program(`
        await tools.exec_command({ cmd: "echo lap | tee -a laps.txt" });
        const { output } = await tools.exec_command({ cmd: "grep -c lap laps.txt" });
        if (output.trim() === "3") await tools.update_goal({ status: "complete" });`);
      const turn = await stage.chat.run([lap, { text: 'One lap.' }], { goalMode: true });
      expect(turn).toMatchObject({ outcome: 'completed', error: null });
      expect(readFileSync(path.join(stage.folder, 'laps.txt'), 'utf8')).toBe('lap\n'.repeat(3));
      const goals = turn.deltas.filter(({ type }) => type === 'goal');
      expect(goals.map(({ status }) => status)).toEqual(['active', 'complete']);
      const laps = turn.messages.filter(({ payload }) => payload.type === 'task_complete');
      expect(laps).toHaveLength(3);
    },
  },
  {
    feature: 'goal',
    name: 'pursues a goal with the images and settings of its message, and gives it up when interrupted',
    async run(stage, agent) {
      const chat = stage.openChat();
      const turn = chat.start([{ shell: 'echo lap | tee -a endless.txt' }, { text: 'One lap.' }], {
        goalMode: true,
        images: [{ mediaType: 'image/png', dataBase64: pixel }],
        model: plainModel,
        thinkingLevel: 'high',
      });
      const file = path.join(stage.folder, 'endless.txt');
      await waitForFile(file);
      await vi.waitFor(() => expect(readFileSync(file, 'utf8')).toMatch(/lap\nlap\n/), { timeout: 20_000 });
      turn.interrupt();
      expect(await turn.ended).toMatchObject({ outcome: 'interrupted' });
      const body = lastRequest(stage, agent);
      expect(body).toMatchObject({ model: plainModel, reasoning: { effort: 'high' } });
      expect(JSON.stringify(body).includes(pixel)).toBe(true);
      await expectOnlyAnswer(stage, chat);
    },
  },
  {
    feature: 'goal',
    name: 'does not go on with a goal in which it was killed',
    async run(stage) {
      const chat = stage.openChat();
      await chat.run([{ text: 'ok' }], { model: plainModel });
      const pids = chat.processes();
      const request = { goalMode: true, model: plainModel };
      const turn = chat.start([{ shell: 'touch in-goal; sleep 1000' }, { text: 'One lap.' }], request);
      await waitForFile(path.join(stage.folder, 'in-goal'));
      for (const pid of pids) kill(pid);
      expect(await turn.ended).toMatchObject({ failure: 'agent_died' });
      await expectOnlyAnswer(stage, chat);
    },
  },
  {
    feature: 'goal',
    name: 'plans for a goal, and does not pursue it, when it shall plan',
    async run({ chat }) {
      const turn = await chat.run([{ text: 'I would do it so.' }], { goalMode: true, planMode: true });
      expect(turn).toMatchObject({ outcome: 'completed' });
      expect(said(turn)).toBe('I would do it so.');
      expect(turn.deltas).toContainEqual({ type: 'notice', text: expect.stringMatching(/plan mode/) });
      expect(turn.deltas.filter(({ type }) => type === 'goal')).toEqual([]);
    },
  },
  ...[null, plainModel].map(
    (model): AgentCase => ({
      feature: 'plan',
      name: `looks around in plan mode, but changes nothing, with ${model ?? 'its own choice of a model'}`,
      async run(stage) {
        const file = path.join(stage.folder, 'seen.txt');
        writeFileSync(file, 'what there is\n');
        const steps = [
          { shell: 'cat seen.txt | head -5' },
          { shell: 'rm seen.txt' },
          { text: '<proposed_plan>\n# Remove it\n</proposed_plan>' },
        ];
        const chat = model === null ? stage.chat : stage.openChat();
        // A second message like the first one brings codex nothing new.
        for (let round = 0; round < 2; round += 1) {
          const turn = await chat.run(steps, { planMode: true, model });
          const results = turn.deltas.filter(({ type }) => type === 'tool_result');
          expect(results).toMatchObject([{ output: 'what there is\n', isError: false }, { isError: true }]);
          expect(existsSync(file)).toBe(true);
          expect(turn.deltas).toContainEqual({ type: 'plan', text: expect.stringContaining('# Remove it') });
        }
      },
    }),
  ),
  {
    feature: 'plan',
    name: 'edits files with its own tool, except in plan mode',
    async run(stage) {
      const patch = '*** Begin Patch\n*** Add File: patched.txt\n+hello\n*** End Patch\n';
      const steps = [{ tool: 'apply_patch', custom: true, input: patch }, { text: 'done' }];
      const chat = stage.openChat();
      const file = path.join(stage.folder, 'patched.txt');
      await chat.run(steps, { planMode: true, model: plainModel });
      expect(existsSync(file)).toBe(false);
      const turn = await chat.run(steps, { model: plainModel });
      expect(readFileSync(file, 'utf8')).toBe('hello\n');
      expect(turn.deltas).toContainEqual(expect.objectContaining({ type: 'tool', name: 'edit' }));
    },
  },
  {
    feature: 'interrupt',
    name: 'lives on when it is interrupted, unless what an interruption kills is a part of it',
    async run(stage) {
      const { mcpServers } = stage.guidance;
      stage.guidance.mcpServers = {};
      const chat = stage.openChat();
      await chat.run([{ text: 'ok' }], { model: plainModel });
      const before = chat.processes();
      const steps = [{ shell: 'touch background; sleep 1000' }, { text: 'never' }];
      const turn = chat.start(steps, { model: plainModel });
      await waitForFile(path.join(stage.folder, 'background'));
      turn.interrupt();
      await turn.ended;
      stage.guidance.mcpServers = mcpServers;
      expect(chat.processes()).toEqual(before);
    },
  },
  {
    feature: 'stdio',
    name: 'says once which MCP servers it leaves out, and which do not start, and goes on without them',
    async run(stage) {
      const { mcpServers } = stage.guidance;
      stage.guidance.mcpServers = {
        old: { transport: 'sse', url: `http://127.0.0.1:${stage.gateway.port}/sse`, headers: {} },
        broken: { transport: 'stdio', command: 'false', args: [], env: {} },
      };
      const chat = stage.openChat();
      const steps = [{ shell: 'sleep 0.5' }, { text: 'ok' }];
      const turns = [await chat.run(steps), await chat.run(steps, { planMode: true }), await chat.run(steps)];
      stage.guidance.mcpServers = mcpServers;
      expect(turns.map(({ outcome }) => outcome)).toEqual(['completed', 'completed', 'completed']);
      const notices = turns.flatMap(({ deltas }) => deltas.filter(({ type }) => type === 'notice'));
      expect(notices.map(({ text }) => text)).toEqual([
        'The MCP server old is left out: codex does not speak to servers by SSE.',
        'The MCP server broken cannot be used: it did not start.',
      ]);
    },
  },
  {
    feature: 'commands',
    name: 'does what a skill says when it is called as a command',
    async run(stage, agent) {
      await stage.chat.run('/counting-sheep of ours SCRIPT:[{"text":"ok"}]');
      const asked = JSON.stringify(lastRequest(stage, agent));
      expect(
        ['$counting-sheep of ours', 'Count them twice.'].filter((words) => !asked.includes(words)),
      ).toEqual([]);
    },
  },
  {
    feature: 'failures',
    name: 'gives up soon when nobody answers at the address of the model',
    async run(_stage, { agent, programs }) {
      const lonely = await openAgentStage({ agent, programs: programs() });
      try {
        await lonely.model.close();
        const turn = await lonely.chat.run([{ text: 'never' }]);
        expect(turn).toMatchObject({ outcome: 'failed', failure: 'model_unreachable' });
        expect(turn.deltas).toContainEqual(expect.objectContaining({ type: 'retry' }));
      } finally {
        await lonely.close();
      }
    },
  },
];

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Nothing that was left behind goes on beside the next message. */
async function expectOnlyAnswer({ model }: AgentStage, chat: AgentStage['chat']): Promise<void> {
  const before = model.requests().length;
  const turn = await chat.run([{ text: 'Only this.' }], { model: plainModel });
  expect(said(turn)).toBe('Only this.');
  expect(turn.deltas.filter(({ type }) => type === 'goal')).toEqual([]);
  expect(model.requests().length).toBe(before + 1);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended with another.
  }
}
