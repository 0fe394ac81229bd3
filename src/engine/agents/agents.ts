import type { TurnRequest } from '../protocol.ts';
import type { Agent } from './agent.ts';
import { scriptedAgent } from './scripted.ts';

/** Every agent this engine can run turns with. */
export const agents: Record<TurnRequest['agent'], Agent> = {
  scripted: scriptedAgent,
};
