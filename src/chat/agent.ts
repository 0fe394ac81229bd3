import type { CodingAgent } from '../contract/message.ts';
import type { TurnRequest } from '../engine/protocol.ts';

/** Which agent's code runs the turns of a chat: the scripted one stands in for all of them. */
export function runnerOf(_provider: CodingAgent): TurnRequest['agent'] {
  return 'scripted';
}

/** Whether an agent can be given a goal. */
export function hasGoals(provider: CodingAgent): boolean {
  return provider === 'codex';
}

/** Whether an agent works only with a credential that the organization has set. */
export function needsCredential(provider: CodingAgent): boolean {
  return provider === 'cursor' || provider === 'opencode';
}
