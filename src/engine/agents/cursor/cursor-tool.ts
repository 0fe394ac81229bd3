import type { JsonObject } from '../agent.ts';
import { objectAt, textAt } from '../json-fields.ts';

/** What a tool of Cursor's has said, as a text. */
export function cursorOutput(result: unknown): string {
  if (typeof result === 'string') return result.slice(0, MAX_CHARACTERS);
  const { value, error } = objectAt({ result }, 'result');
  const { stdout, stderr } = objectAt({ value }, 'value');
  const output =
    typeof stdout === 'string' ? `${stdout}${typeof stderr === 'string' ? stderr : ''}` : (value ?? error);
  if (output === undefined) return '';
  return (typeof output === 'string' ? output : JSON.stringify(output)).slice(0, MAX_CHARACTERS);
}

/** Whether a call that has ended did not do what it was to do. */
export function isCursorError(message: JsonObject): boolean {
  if (message.status === 'error') return true;
  const result = objectAt(message, 'result');
  const exitCode = objectAt(result, 'value').exitCode;
  return textAt(result, 'status') === 'error' || (typeof exitCode === 'number' && exitCode !== 0);
}

const MAX_CHARACTERS = 20_000;
