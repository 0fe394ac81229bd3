import { AgentFailure, type JsonObject } from '../agent.ts';
import { numberAt, textAt } from '../json-fields.ts';
import { modelFailure } from '../model-failure.ts';

/** Why Cursor did not deal with a message, from what its SDK says of an error: `name`, `code`, `status` and `message`. */
export function cursorFailure(error: JsonObject): AgentFailure {
  // Texts of Cursor's protocol begin with their code.
  const message = textAt(error, 'message').replace(/^\[\w+\] /, '');
  const status = statusOf(error, message);
  if (status !== undefined) return modelFailure({ status, message });
  return new AgentFailure(message === '' ? 'Cursor could not go on.' : `Cursor could not go on: ${message}`);
}

/** The status that an answer to the same effect has; null when there was no answer, undefined when that is not known. */
function statusOf(error: JsonObject, message: string): number | null | undefined {
  const status = numberAt(error, 'status');
  if (status !== null) return status;
  const code = textAt(error, 'code');
  const name = textAt(error, 'name');
  const known = [code, name].find((word) => Object.hasOwn(knownWords, word));
  if (known !== undefined) return knownWords[known];
  for (const text of [code, message, name]) {
    const found = patterns.find(([pattern]) => pattern.test(text));
    if (found !== undefined) return found[1];
  }
  return undefined;
}

/** Codes of Cursor's protocol, and names of the SDK's errors. */
const knownWords: Record<string, number | null> = {
  unauthenticated: 401,
  permission_denied: 403,
  resource_exhausted: 429,
  invalid_argument: 400,
  failed_precondition: 400,
  not_found: 404,
  unavailable: null,
  deadline_exceeded: null,
  internal: null,
  data_loss: null,
  ABORT_ERR: null,
  AuthenticationError: 401,
  RateLimitError: 429,
  NetworkError: null,
};

/** Codes of Cursor's backend, of which there are many, and what is said where there is none. The first that fits counts. */
const patterns: [pattern: RegExp, status: number | null][] = [
  [/usage.limit|spend.limit|payment required/i, 402],
  [/rate.?limit|too many requests|exhausted|overloaded/i, 429],
  [/fetch failed|failed to connect|server error|network|timed?.?out|socket|ECONN|ENOTFOUND/i, null],
  [/\bauth|_auth|unauthorized|logged.in|login|api.key|permission/i, 401],
  [/^bad_|not.found|blocked|deprecated|cannot use this model|^ConfigurationError$/i, 400],
];
