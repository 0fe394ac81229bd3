import type { TurnRequest } from '../../protocol.ts';
import type { JsonObject } from '../agent.ts';
import { efforts } from '../thinking-level.ts';

/**
 * The settings of a conversation for one message; all of them, because codex keeps each until it hears otherwise. In
 * plan mode it asks before it does anything, see `answerCodex`.
 */
export function codexSettings(
  {
    model,
    thinkingLevel,
    planMode,
    fastMode,
  }: Pick<TurnRequest, 'model' | 'thinkingLevel' | 'planMode' | 'fastMode'>,
  usualModel: string,
): JsonObject {
  return {
    approvalPolicy: planMode ? 'untrusted' : 'never',
    serviceTier: fastMode ? 'fast' : null,
    collaborationMode: {
      mode: planMode ? 'plan' : 'default',
      settings: {
        model: model ?? usualModel,
        reasoning_effort: efforts.codex[thinkingLevel],
        // Codex's own ones for the mode.
        developer_instructions: null,
      },
    },
  };
}
