import path from 'node:path';
import type { SessionSpec } from '../agent.ts';

export type ClaudeLaunch = { program: string; args: string[]; environment: Record<string, string> };

/**
 * How claude is started. Whatever may be secret or long, or may change from one message to the next, is told to it later
 * in a control request: arguments can be read by everybody, and have a bound.
 */
export function claudeLaunch(
  spec: Pick<SessionSpec, 'programs' | 'environment' | 'modelUrl' | 'modelKey'>,
  { conversation, isResumed, isRoot }: { conversation: string; isResumed: boolean; isRoot: boolean },
): ClaudeLaunch {
  const { programs, environment, modelUrl, modelKey } = spec;
  const packageName = `claude-code-linux-${process.arch}`;
  return {
    program: path.join(programs, 'node_modules', '@anthropic-ai', packageName, 'claude'),
    args: [
      '-p',
      ...['--input-format', 'stream-json', '--output-format', 'stream-json'],
      ...['--verbose', '--include-partial-messages'],
      ...['--permission-prompt-tool', 'stdio', '--permission-mode', 'bypassPermissions'],
      '--allow-dangerously-skip-permissions',
      ...['--disallowedTools', refusedTools.join(',')],
      ...[isResumed ? '--resume' : '--session-id', conversation],
    ],
    environment: {
      ...suggested,
      ...withoutDetours(environment),
      ANTHROPIC_BASE_URL: modelUrl,
      ANTHROPIC_API_KEY: modelKey,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      // A command in the background would wake claude between two turns, when nobody listens.
      CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
      // By itself it tries a refused key for minutes.
      CLAUDE_CODE_MAX_RETRIES: '3',
      // Without it, it refuses to work as root with all permissions.
      ...(isRoot && { IS_SANDBOX: '1' }),
    },
  };
}

/** Nobody is there to answer, and nothing may go on after the turn. */
const refusedTools = [
  'AskUserQuestion',
  'EnterPlanMode',
  'CronCreate',
  'CronDelete',
  'CronList',
  'Monitor',
  'ScheduleWakeup',
  'Workflow',
];

const suggested = { MCP_TIMEOUT: '10000' };

/** Variables of the workspace that would lead claude around the gateway, or give it another key. */
const detours = new Set([
  'ANTHROPIC_AUTH_TOKEN',
  'ANTHROPIC_CUSTOM_HEADERS',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_FOUNDRY',
  'CLAUDE_CODE_USE_VERTEX',
]);

function withoutDetours(environment: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !detours.has(name)));
}
