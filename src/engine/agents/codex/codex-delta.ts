import type { JsonObject } from '../agent.ts';
import { numberAt, objectAt, textAt } from '../json-fields.ts';
import { shellScript } from './codex-reading-command.ts';

/** What those who watch are told about something that codex has begun; null when that is nothing for them. */
export function beginningOf(item: JsonObject): JsonObject | null {
  const tool = toolOf(item);
  return tool && { type: 'tool', id: item.id, ...tool };
}

/** The same when it is done. */
export function endOf(item: JsonObject): JsonObject | null {
  if (item.type === 'plan') return { type: 'plan', text: textAt(item, 'text') };
  if (toolOf(item) === null) return null;
  const exitCode = numberAt(item, 'exitCode');
  const isError =
    item.status === 'failed' || item.status === 'declined' || (exitCode !== null && exitCode !== 0);
  return { type: 'tool_result', id: item.id, output: outputOf(item).slice(0, MAX_CHARACTERS), isError };
}

const MAX_CHARACTERS = 20_000;

function toolOf(item: JsonObject): { name: string; input: unknown } | null {
  const { type } = item;
  if (type === 'commandExecution')
    return { name: 'shell', input: { command: shellScript(textAt(item, 'command')), cwd: item.cwd } };
  if (type === 'fileChange') return { name: 'edit', input: { changes: item.changes } };
  if (type === 'mcpToolCall')
    return { name: `${textAt(item, 'server')}.${textAt(item, 'tool')}`, input: item.arguments };
  if (type === 'dynamicToolCall') return { name: textAt(item, 'tool'), input: item.arguments };
  if (type === 'collabAgentToolCall') return { name: textAt(item, 'tool'), input: { prompt: item.prompt } };
  if (type === 'webSearch') return { name: 'web_search', input: { query: item.query } };
  return type === 'imageView' ? { name: 'view_image', input: { path: item.path } } : null;
}

function outputOf(item: JsonObject): string {
  if (item.status === 'declined') return 'This is not possible in plan mode.';
  if (item.type === 'commandExecution') return textAt(item, 'aggregatedOutput');
  if (item.type !== 'mcpToolCall') return '';
  const failure = textAt(objectAt(item, 'error'), 'message');
  return failure === '' ? JSON.stringify(objectAt(item, 'result').content ?? null) : failure;
}
