import type { JsonObject } from '../agent.ts';
import { textAt } from '../json-fields.ts';
import { isReadingCommand } from './codex-reading-command.ts';

/**
 * The answer when codex asks for something; null when that is not known here. It asks before it does anything in plan
 * mode, where it may look but not change; otherwise it has all permissions and does not ask. Nobody is there to answer
 * a question, and codex then goes on as it thinks best.
 */
export function answerCodex(method: string, params: JsonObject): JsonObject | null {
  if (method === 'item/commandExecution/requestApproval') {
    const isAllowed = params.kind === 'command' && isReadingCommand(textAt(params, 'command'));
    return { decision: isAllowed ? 'accept' : 'decline' };
  }
  return answers.get(method) ?? null;
}

const answers = new Map<string, JsonObject>([
  ['item/fileChange/requestApproval', { decision: 'decline' }],
  ['item/permissions/requestApproval', { permissions: {}, scope: 'turn' }],
  ['item/tool/requestUserInput', { answers: {} }],
  ['mcpServer/elicitation/request', { action: 'decline', content: null, _meta: null }],
]);
