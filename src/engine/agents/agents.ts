import type { AgentName } from '../protocol.ts';
import type { Agent } from './agent.ts';
import { claudeAgent } from './claude/claude.ts';
import { codexAgent } from './codex/codex.ts';
import { cursorAgent } from './cursor/cursor.ts';
import { opencodeAgent } from './opencode/opencode.ts';
import { scriptedAgent } from './scripted/scripted.ts';

/** Every agent this engine can run turns with. */
export const agents: Partial<Record<AgentName, Agent>> = {
  claude: claudeAgent,
  codex: codexAgent,
  cursor: cursorAgent,
  opencode: opencodeAgent,
  scripted: scriptedAgent,
};
