import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { createOpencodeAgent } from '../../src/engine/agents/opencode/opencode.ts';
import { agentPrograms } from '../world/agents-folder.ts';
import type { AgentCase } from './agent-under-test.ts';
import { agentCases } from './conformance.ts';
import { lastRequest, said } from './observe.ts';

const ownCases: AgentCase[] = [
  {
    feature: 'model',
    name: 'asks a model that it has never heard of, as hard as the message says',
    async run(stage, agent) {
      const turn = await stage
        .openChat()
        .run([{ text: 'ok' }], { model: 'acme/brand-new', thinkingLevel: 'max' });
      expect(turn.outcome).toBe('completed');
      expect(lastRequest(stage, agent)).toMatchObject({ model: 'acme/brand-new', reasoning_effort: 'high' });
    },
  },
  {
    feature: 'fast',
    name: 'says so when a model has no fast mode',
    async run(stage) {
      const { deltas } = await stage.chat.run([{ text: 'ok' }], { fastMode: true });
      expect(deltas).toContainEqual({ type: 'notice', text: expect.stringMatching(/has no fast mode/) });
    },
  },
  {
    feature: 'commands',
    name: 'does what a command after a slash means',
    async run(stage, agent) {
      const turn = await stage.chat.run('/init SCRIPT:[{"text":"Commanded."}]');
      expect(said(turn)).toBe('Commanded.');
      expect(JSON.stringify(lastRequest(stage, agent).messages.at(-1))).toMatch(
        'Create or update `AGENTS.md`',
      );
    },
  },
  {
    feature: 'turn',
    name: 'shows what its helpers do, but not what they say',
    async run(stage) {
      const prompt = 'SCRIPT:[{"shell":"echo helped > helped.txt"},{"text":"I have helped."}]';
      const args = { description: 'Help', prompt, subagent_type: 'general' };
      const turn = await stage.chat.run([{ tool: 'task', args }, { text: 'Done together.' }]);
      expect(said(turn)).toBe('Done together.');
      const tools = turn.deltas.filter(({ type }) => type === 'tool').map(({ name }) => name);
      expect(tools).toEqual(['task', 'bash']);
      expect(readdirSync(stage.folder)).toContain('helped.txt');
    },
  },
  {
    feature: 'turn',
    name: 'does not wait for somebody to allow what a repository wants to be asked about',
    async run(stage) {
      const file = path.join(stage.folder, 'opencode.json');
      writeFileSync(file, JSON.stringify({ permission: { bash: 'ask' } }));
      try {
        const turn = await stage.openChat().run([{ shell: 'echo asked > asked.txt' }, { text: 'ok' }]);
        expect(turn.outcome).toBe('completed');
        expect(readdirSync(stage.folder)).toContain('asked.txt');
      } finally {
        rmSync(file);
      }
    },
  },
  {
    feature: 'failures',
    name: 'gives up on a model that breaks off again and again',
    async run(stage) {
      const turn = await stage.chat.run([{ text: 'Half a', drop: true }]);
      expect(turn).toMatchObject({ outcome: 'failed', failure: 'model_unreachable' });
      expect(turn.deltas).toContainEqual(expect.objectContaining({ type: 'retry' }));
    },
  },
  {
    feature: 'turn',
    name: 'installs nothing by itself',
    async run(stage) {
      expect(readdirSync(path.join(stage.home, '.config/opencode/node_modules'))).toEqual([]);
    },
  },
];

agentCases(
  'opencode',
  {
    // What it tries again by itself takes more than a minute.
    agent: createOpencodeAgent({ retryLimits: { mostRetries: 1, mostMs: 60_000 } }),
    programs: () => agentPrograms('opencode'),
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
    history: ['opencode-assistant'],
    request: {
      isMain: ({ path, body }) => path === '/v1/chat/completions' && body?.tools?.length > 0,
      effort: (body) => body.reasoning?.effort,
      isFast: (body) => body.model.endsWith('-fast'),
    },
    models: ['openai/gpt-5.2', 'anthropic/claude-opus-4.8'],
    fastModel: 'anthropic/claude-opus-5',
    efforts: { low: 'low', medium: 'medium', high: 'high', max: 'max' },
    ping: (server) => ({ tool: `${server}_ping`, args: {} }),
    planSteps: [{ text: 'This is the plan.' }],
    forget: (home) => rmSync(path.join(home, '.replica/engine/opencode'), { recursive: true, force: true }),
  },
  ownCases,
);
