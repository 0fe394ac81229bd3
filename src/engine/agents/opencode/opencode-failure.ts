import { AgentFailure, type JsonObject } from '../agent.ts';
import { numberAt, objectAt, textAt } from '../json-fields.ts';
import { modelFailure } from '../model-failure.ts';

/** Why opencode did not deal with a message, by the error it has put into its own. */
export function opencodeFailure(error: JsonObject): AgentFailure {
  const data = objectAt(error, 'data');
  const name = textAt(error, 'name');
  const said = readWords(textAt(data, 'message'));
  const status = numberAt(data, 'statusCode') ?? statuses.get(name) ?? said.status;
  if (name === 'APIError' || status !== null) return modelFailure({ status, message: said.message });
  return new AgentFailure(
    said.message === '' ? 'OpenCode could not go on.' : `OpenCode could not go on: ${said.message}`,
  );
}

/** Why trying again was given up, when all that opencode has told is the words of the provider and how long it waits. */
export function retryFailure({ words, waitMs }: { words: string; waitMs: number }): AgentFailure {
  const { status, message } = readWords(words);
  const isOverloaded = waitMs > LONG_WAIT_MS || overloaded.test(message);
  return modelFailure({ status: status ?? (isOverloaded ? 429 : null), message });
}

/** Errors that opencode names by what the provider meant. */
const statuses = new Map([
  ['ProviderAuthError', 401],
  ['ContextOverflowError', 413],
  ['ContentFilterError', 400],
  ['MessageOutputLengthError', 400],
]);

/** Longer than opencode waits by itself: the provider has asked for it, as those do that have too much to do. */
const LONG_WAIT_MS = 45_000;
const overloaded = /\b(429|529)\b|rate.?limit|too many requests|overloaded|exhausted|quota/i;

/** A router tells of trouble in the middle of an answer by an object, of which opencode passes on the JSON. */
function readWords(words: string): { status: number | null; message: string } {
  const error = parse(words);
  const code = numberAt(error, 'code');
  const isStatus = code !== null && code >= 400 && code < 600;
  return { status: isStatus ? code : null, message: withoutAdvice(textAt(error, 'message') || words) };
}

function parse(words: string): JsonObject {
  try {
    return objectAt({ said: JSON.parse(words) as unknown }, 'said');
  } catch {
    return {};
  }
}

/** What the runtime adds for programmers. */
function withoutAdvice(message: string): string {
  return message.replace(/ For more information, pass `verbose: true`.*$/s, '').replace(/\n\s+at .*$/s, '');
}
