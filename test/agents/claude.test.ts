import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { claudeAgent } from '../../src/engine/agents/claude/claude.ts';
import { agentPrograms } from '../world/agents-folder.ts';
import type { AgentCase } from './agent-under-test.ts';
import { agentCases } from './conformance.ts';

const ownCases: AgentCase[] = [
  {
    feature: 'turn',
    name: 'does what the rules of the repository want somebody to allow, since nobody is there',
    async run({ openChat, folder }) {
      const rules = { permissions: { ask: ['Bash(echo:*)'] } };
      const settings = path.join(folder, '.claude');
      mkdirSync(settings, { recursive: true });
      writeFileSync(path.join(settings, 'settings.json'), JSON.stringify(rules));
      await openChat().run([{ shell: 'echo allowed > allowed.txt' }, { text: 'ok' }]);
      rmSync(settings, { recursive: true });
      expect(readFileSync(path.join(folder, 'allowed.txt'), 'utf8')).toBe('allowed\n');
    },
  },
  {
    feature: 'plan',
    name: 'shows the plan as claude has written it down',
    async run({ chat, model }) {
      await chat.run([{ text: 'I am thinking about it.' }], { planMode: true });
      const asked = JSON.stringify(model.requests().at(-1)?.body);
      const file = /[^" \\]*\/\.claude\/plans\/[\w-]+\.md/.exec(asked)?.[0];
      const steps = [{ write: [file, '# A plan\n'] }, { tool: 'ExitPlanMode', args: {} }];
      const turn = await chat.run(steps, { planMode: true });
      expect(turn).toMatchObject({ outcome: 'completed' });
      expect(turn.deltas).toContainEqual({ type: 'plan', text: '# A plan\n' });
    },
  },
  {
    feature: 'resume',
    name: 'resumes what came after a clearing of the conversation, and not what came before',
    async run(stage) {
      const chat = stage.openChat();
      await chat.run([{ text: 'This is the otter.' }]);
      await chat.run('/clear');
      await chat.run([{ text: 'This is the beaver.' }]);
      await stage.restart();
      const turn = await chat.run([{ text: 'next' }]);
      expect(turn.deltas.filter(({ type }) => type === 'notice')).toEqual([]);
      const asked = JSON.stringify(stage.model.requests().at(-1)?.body);
      expect(asked).toContain('This is the beaver.');
      expect(asked).not.toContain('This is the otter.');
    },
  },
  {
    feature: 'http',
    name: 'says once which MCP server does not answer, and goes on without it',
    async run(stage) {
      const { mcpServers } = stage.guidance;
      const dead = { transport: 'http', url: 'http://127.0.0.1:9/mcp', headers: {} } as const;
      stage.guidance.mcpServers = { dead };
      const chat = stage.openChat();
      const turns = [await chat.run([{ text: 'one' }]), await chat.run([{ text: 'two' }])];
      stage.guidance.mcpServers = mcpServers;
      const notices = turns.map(({ deltas }) => deltas.filter(({ type }) => type === 'notice'));
      expect(notices).toEqual([[{ type: 'notice', text: 'The MCP server dead cannot be used.' }], []]);
      expect(turns.map(({ outcome }) => outcome)).toEqual(['completed', 'completed']);
    },
  },
];

agentCases(
  'claude',
  {
    agent: claudeAgent,
    programs: () => agentPrograms('claude'),
    features: {
      turn: true,
      thoughts: true,
      images: true,
      model: true,
      thinking: true,
      fast: true,
      plan: true,
      goal: false,
      systemPrompt: true,
      stdio: true,
      http: true,
      sse: true,
      skills: true,
      commands: true,
      interrupt: true,
      failures: true,
      death: true,
      resume: true,
      lost: true,
    },
    history: ['claude-system', 'claude-assistant', 'claude-user', 'claude-assistant', 'claude-result'],
    request: {
      isMain: ({ path, body }) => path.startsWith('/v1/messages') && body?.tools?.length > 0,
      effort: (body) => body.output_config?.effort,
      isFast: (body) => body.speed === 'fast',
    },
    models: ['claude-opus-5-5', 'claude-sonnet-5'],
    efforts: { low: 'low', medium: 'medium', high: 'high', max: 'max' },
    ping: (server) => ({ tool: `mcp__${server}__ping`, args: {} }),
    planSteps: [{ tool: 'ExitPlanMode', args: {} }],
    forget: (home) => rmSync(path.join(home, '.claude/projects'), { recursive: true, force: true }),
  },
  ownCases,
);
