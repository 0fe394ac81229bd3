import type { CodingAgent } from '../contract/message.ts';

/** Whether an agent can be given a goal. */
export function hasGoals(provider: CodingAgent): boolean {
  return provider === 'codex';
}

/**
 * Whether an agent works only with a credential that the organization has set. Cursor's models are at Cursor; the others
 * reach theirs through the gateway, where the offline model can stand in.
 */
export function needsCredential(
  provider: CodingAgent,
  { isOfflineModelOn }: { isOfflineModelOn: boolean },
): boolean {
  return provider === 'cursor' || (provider === 'opencode' && !isOfflineModelOn);
}
