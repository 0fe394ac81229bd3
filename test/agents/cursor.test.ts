import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect } from 'vitest';
import type { Agent } from '../../src/engine/agents/agent.ts';
import { createCursorAgent } from '../../src/engine/agents/cursor/cursor.ts';
import type { AgentCase } from './agent-under-test.ts';
import { agentCases } from './conformance.ts';
import { lastRequest, said, waitForFile } from './observe.ts';

const KEY = 'crsr_for_tests';
const programs = mkdtempSync(path.join(tmpdir(), 'cursor-stand-in-'));
mkdirSync(path.join(programs, 'node_modules/@cursor'), { recursive: true });
symlinkSync(
  path.join(import.meta.dirname, 'cursor-stand-in'),
  path.join(programs, 'node_modules/@cursor/sdk'),
);
afterAll(() => rmSync(programs, { recursive: true }));

const cursor = createCursorAgent({
  node: process.execPath,
  script: path.join(import.meta.dirname, 'cursor-runner-process.ts'),
});
/** Cursor's model is at Cursor; in its place the stand-in of the SDK has the scripted one. */
const withScriptedModel: Agent = {
  ...cursor,
  open(spec, signal) {
    const variables = { STAND_IN_MODEL_URL: spec.modelUrl, STAND_IN_MODEL_KEY: spec.modelKey };
    return cursor.open({ ...spec, environment: { ...spec.environment, ...variables } }, signal);
  },
};

const ownCases: AgentCase[] = [
  {
    feature: 'turn',
    name: 'puts together in the history what comes in pieces',
    async run(stage) {
      const turn = await stage.chat.run([
        { think: 'Which one?', text: 'One word after another.', shell: 'echo out; echo err >&2; exit 3' },
        { text: 'It went wrong.' },
      ]);
      const kept = turn.messages.map(({ type, payload }) => [type, payload.status ?? payload.text ?? '']);
      expect(kept).toEqual([
        ['cursor-status', 'RUNNING'],
        ['cursor-thinking', 'Which one?'],
        ['cursor-assistant', ''],
        ['cursor-tool_call', 'running'],
        ['cursor-tool_call', 'completed'],
        ['cursor-assistant', ''],
        ['cursor-status', 'FINISHED'],
      ]);
      const content = [{ type: 'text', text: 'One word after another.' }];
      expect(turn.messages[2]?.payload.message).toEqual({ role: 'assistant', content });
      const tools = turn.deltas.filter(({ type }) => type === 'tool' || type === 'tool_result');
      expect(tools).toMatchObject([
        { name: 'shell', input: { command: 'echo out; echo err >&2; exit 3' } },
        { output: 'out\nerr\n', isError: true },
      ]);
    },
  },
  {
    feature: 'turn',
    name: 'is started without its key, which is nowhere on the disk either',
    async run(stage) {
      const { chat, home } = stage;
      const turn = chat.start([{ shell: 'touch looking; sleep 1000' }]);
      await waitForFile(path.join(stage.folder, 'looking'));
      const seen = chat
        .processes()
        .flatMap((pid) => ['cmdline', 'environ'].map((name) => readFileSync(`/proc/${pid}/${name}`, 'utf8')));
      expect(seen.join()).toContain('cursor-runner');
      turn.interrupt();
      await turn.ended;
      const files = readdirSync(home, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => readFileSync(path.join(parentPath, name), 'utf8'));
      expect([...seen, ...files, ...stage.logs].filter((text) => text.includes(KEY))).toEqual([]);
    },
  },
  {
    feature: 'turn',
    name: 'talks to Cursor in the way that goes through a proxy',
    async run(stage, agent) {
      await stage.chat.run([{ text: 'ok' }]);
      expect(lastRequest(stage, agent).useHttp1ForAgent).toBe(true);
    },
  },
  {
    feature: 'model',
    name: 'takes the other settings of a model from Cursor, and says which models there are',
    async run(stage, agent) {
      await stage.chat.run([{ text: 'ok' }], { thinkingLevel: 'low' });
      expect(lastRequest(stage, agent)).toMatchObject({ params: { context: '300k', effort: 'low' } });
      await stage.chat.run([{ text: 'ok' }], { model: 'plain' });
      expect(lastRequest(stage, agent)).toMatchObject({ model: 'plain-1', params: {} });
      const turn = await stage.chat.run([{ text: 'ok' }], { model: 'unheard-of' });
      expect(turn).toMatchObject({ outcome: 'failed', failure: 'model_refused' });
      expect(turn.error).toContain('Available models: auto-smart, composer-2.5, plain-1');
    },
  },
  {
    feature: 'fast',
    name: 'says so when a model has no fast mode',
    async run(stage) {
      const { deltas } = await stage.chat.run([{ text: 'ok' }], { fastMode: true });
      expect(deltas).toContainEqual({ type: 'notice', text: 'The model Auto has no fast mode.' });
    },
  },
  {
    feature: 'plan',
    name: 'takes what it says for the plan when it writes none down',
    async run(stage, agent) {
      const turn = await stage.chat.run([{ text: 'First this, then that.' }], { planMode: true });
      expect(turn.deltas).toContainEqual({ type: 'plan', text: 'First this, then that.' });
      expect(lastRequest(stage, agent).mode).toBe('plan');
    },
  },
  {
    feature: 'failures',
    name: 'says that there is no key, or that it is refused, and works with the next one',
    async run(stage) {
      const chat = stage.openChat();
      for (const credential of [null, 'refused-key']) {
        const turn = await chat.run([{ text: 'never' }], { credential });
        expect(turn).toMatchObject({ outcome: 'failed', failure: 'model_unauthorized' });
        expect(turn.error).not.toContain('refused-key');
      }
      expect(said(await chat.run([{ text: 'At last.' }]))).toBe('At last.');
      const turn = await chat.run([{ text: 'ok' }], { credential: 'another-key' });
      expect(turn).toMatchObject({ outcome: 'completed' });
    },
  },
  {
    feature: 'failures',
    name: 'keeps in the history what went wrong',
    async run(stage) {
      const error = { status: 429, message: 'Slow down.' };
      const turn = await stage.chat.run([{ error }]);
      expect(turn.messages.slice(-2)).toMatchObject([
        { type: 'cursor-status', payload: { status: 'ERROR' } },
        { type: 'cursor-error', payload: { code: 'resource_exhausted', message: 'Slow down.' } },
      ]);
    },
  },
  {
    feature: 'failures',
    name: 'is unreachable when the connection breaks',
    async run(stage) {
      const turn = await stage.chat.run([{ text: 'Half a', drop: true }]);
      expect(turn).toMatchObject({ outcome: 'failed', failure: 'model_unreachable' });
    },
  },
];

agentCases(
  'cursor',
  {
    agent: withScriptedModel,
    programs: () => programs,
    credential: KEY,
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
      // The SDK does not say which there are.
      commands: false,
      interrupt: true,
      failures: true,
      death: true,
      resume: true,
      lost: true,
    },
    history: ['cursor-status', 'cursor-tool_call', 'cursor-tool_call', 'cursor-assistant', 'cursor-status'],
    request: {
      isMain: ({ path }) => path === '/v1/chat/completions',
      effort: (body) => body.params.effort,
      isFast: (body) => body.params.fast === 'true',
    },
    models: ['auto-smart', 'composer-2.5'],
    fastModel: 'composer-2.5',
    efforts: { low: 'low', medium: 'medium', high: 'high', max: 'max' },
    ping: (server) => ({ tool: `${server}_ping`, args: {} }),
    planSteps: [{ tool: 'createPlan', args: { plan: '# What to do' } }, { text: 'This is the plan.' }],
    forget: (home) => rmSync(path.join(home, '.cursor/sdk'), { recursive: true, force: true }),
  },
  ownCases,
);
