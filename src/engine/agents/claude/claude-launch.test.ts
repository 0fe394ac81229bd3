import { expect, test } from 'vitest';
import { claudeLaunch } from './claude-launch.ts';

const spec = {
  programs: '/opt/replica/agents/claude-1',
  environment: {
    HOME: '/home/replica',
    ANTHROPIC_API_KEY: 'of the user',
    ANTHROPIC_AUTH_TOKEN: 'of the user',
    CLAUDE_CODE_USE_BEDROCK: '1',
    MCP_TIMEOUT: '20000',
  },
  modelUrl: 'http://127.0.0.1:8484/model/claude/chat',
  modelKey: 'engine-secret',
};
const fresh = { conversation: 'id-1', isResumed: false, isRoot: false };

test('the program is that of this kind of machine', () => {
  const { program } = claudeLaunch(spec, fresh);
  const folder = '/opt/replica/agents/claude-1/node_modules/@anthropic-ai';
  expect(program).toBe(`${folder}/claude-code-linux-${process.arch}/claude`);
});

test.each([
  ['begins', false, '--session-id'],
  ['goes on', true, '--resume'],
])('a conversation %s under its name', (_name, isResumed, option) => {
  const { args } = claudeLaunch(spec, { ...fresh, isResumed });
  expect(args.slice(args.indexOf(option))).toEqual([option, 'id-1']);
});

test('no secret is among the arguments', () => {
  expect(claudeLaunch(spec, fresh).args.join(' ')).not.toContain('secret');
});

test('nothing of the workspace leads around the gateway, and the rest of it stays', () => {
  const { environment } = claudeLaunch(spec, fresh);
  expect(environment).toMatchObject({
    HOME: '/home/replica',
    ANTHROPIC_BASE_URL: spec.modelUrl,
    ANTHROPIC_API_KEY: 'engine-secret',
    MCP_TIMEOUT: '20000',
  });
  expect(environment).not.toHaveProperty('ANTHROPIC_AUTH_TOKEN');
  expect(environment).not.toHaveProperty('CLAUDE_CODE_USE_BEDROCK');
});

test.each([
  [true, '1'],
  [false, undefined],
])('with root %s, IS_SANDBOX is %s', (isRoot, expected) => {
  expect(claudeLaunch(spec, { ...fresh, isRoot }).environment.IS_SANDBOX).toBe(expected);
});
