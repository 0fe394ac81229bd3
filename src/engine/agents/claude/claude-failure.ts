import { AgentFailure, type JsonObject } from '../agent.ts';
import { numberAt, textAt } from '../json-fields.ts';
import { modelFailure } from '../model-failure.ts';

/** Why claude did not deal with a message, by its result; null when it did. Its `subtype` is no help: it says success. */
export function claudeFailure(result: JsonObject | null): AgentFailure | null {
  if (result === null) return new AgentFailure('Claude did not take the message.');
  if (result.is_error !== true) return null;
  const status = numberAt(result, 'api_error_status');
  const isModelAtFault = status !== null || result.terminal_reason === 'api_error';
  if (isModelAtFault) return modelFailure({ status, message: withoutAdvice(textAt(result, 'result')) });
  const said = textAt(result, 'result') || reasons(result);
  return new AgentFailure(said === '' ? 'Claude could not go on.' : `Claude could not go on: ${said}`);
}

function reasons({ errors }: JsonObject): string {
  return Array.isArray(errors) ? errors.filter((error) => typeof error === 'string').join('; ') : '';
}

/** What claude puts around the words of the provider is meant for somebody who sits before it. */
function withoutAdvice(text: string): string {
  return text
    .replace(/^(Failed to authenticate\. )?API Error: (\d{3} |Request rejected \(\d{3}\) · )?/, '')
    .replace(/ Run --model to pick a different model\.$/, '')
    .replace(/ Check the gateway set in ANTHROPIC_BASE_URL.*$/, '')
    .replace(/\.? This is a server-side issue, usually temporary.*$/, '');
}
