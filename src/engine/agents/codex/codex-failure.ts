import { AgentFailure, type JsonObject } from '../agent.ts';
import { numberAt, objectAt, textAt } from '../json-fields.ts';
import { modelFailure } from '../model-failure.ts';

/** Why codex did not deal with a message, by how its turn has ended; null when it did. */
export function codexFailure(turn: JsonObject): AgentFailure | null {
  if (turn.status === 'completed') return null;
  const error = objectAt(turn, 'error');
  const message = textAt(error, 'message');
  const status = statusOf(error.codexErrorInfo, message);
  if (status !== undefined) return modelFailure({ status, message: providerWords(message) });
  return new AgentFailure(message === '' ? 'Codex could not go on.' : `Codex could not go on: ${message}`);
}

/** The status of the provider's answer; null when there was none, undefined when the provider is not at fault. */
function statusOf(info: unknown, message: string): number | null | undefined {
  const known = typeof info === 'string' ? knownStatuses.get(info) : undefined;
  if (known !== undefined) return known;
  const written = /(?:unexpected|last) status:? (\d{3})\b/.exec(message)?.[1];
  if (written !== undefined) return Number(written);
  // The body of a 400 is passed on as it came.
  if (message.startsWith('{')) return 400;
  if (/stream disconnected|connection failed|error sending request/i.test(message)) return null;
  const [name, details] = Object.entries(objectAt({ info }, 'info'))[0] ?? [];
  if (name === undefined || !/^(http|response)/.test(name)) return undefined;
  return numberAt(objectAt({ details }, 'details'), 'httpStatusCode');
}

const knownStatuses = new Map([
  ['unauthorized', 401],
  ['badRequest', 400],
  ['contextWindowExceeded', 400],
  ['cyberPolicy', 400],
  ['misalignmentPolicyViolation', 400],
  ['modelNotFound', 404],
  ['rateLimitExceeded', 429],
  ['usageLimitExceeded', 429],
  ['flexUnavailable', 429],
  ['serverOverloaded', 529],
  ['policyCapacityUnavailable', 529],
  ['internalServerError', 500],
]);

/** What the provider itself has said, without what codex puts around it. */
function providerWords(message: string): string {
  const words = message.replace(/^unexpected status \d{3} [^:]*: /, '').replace(/, url: \S+.*$/s, '');
  try {
    const body = JSON.parse(words) as JsonObject;
    return textAt(objectAt(body, 'error'), 'message') || textAt(body, 'message') || words;
  } catch {
    return words;
  }
}
