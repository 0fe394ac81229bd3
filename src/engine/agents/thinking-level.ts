import type { AgentName, ThinkingLevel } from '../protocol.ts';

/** The effort that an agent calls each level; opencode and cursor have names of their own for each model. */
export const efforts = {
  claude: { low: 'low', medium: 'medium', high: 'high', max: 'max' },
  codex: { low: 'low', medium: 'medium', high: 'high', max: 'xhigh' },
  cursor: { low: 'low', medium: 'medium', high: 'high', max: 'max' },
} as const satisfies Partial<Record<AgentName, Record<ThinkingLevel, string>>>;

/** How hard an agent thinks when nobody says. */
export function usualThinkingLevel(agent: AgentName): ThinkingLevel {
  return agent === 'claude' ? 'high' : 'medium';
}
