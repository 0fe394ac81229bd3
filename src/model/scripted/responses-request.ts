import type { Conversation, Item } from './conversation.ts';
import { asList, asName, asObject, isObject, type JsonObject, textsOf } from './shape.ts';

/** Reads a request of the OpenAI Responses API. */
export function readResponsesRequest(body: unknown): Conversation {
  const { model, input, tools, tool_choice, stream } = asObject(body, 'body');
  const given = typeof input === 'string' ? [{ role: 'user', content: input }] : asList(input, 'input');
  const items = given.map((item) => asObject(item, 'an element of input'));
  const offered = [asList(tools ?? [], 'tools'), ...items.map(addedTools)].flat();
  return {
    model: asName(model, 'model'),
    items: items.flatMap(toItems),
    tools: new Set(tool_choice === 'none' ? [] : offered.flatMap(namesOf)),
    isStreamed: stream === true,
    wantsThinking: true,
  };
}

function toItems({ type, role, content, output }: JsonObject): Item[] {
  const name = typeof type === 'string' ? type : '';
  if (name.endsWith('_output')) return [{ kind: 'result', text: textsOf(output).join('\n') }];
  if (name.endsWith('_call')) return [{ kind: 'call' }];
  if (role === 'assistant') return [{ kind: 'assistant' }];
  if (typeof role !== 'string') return [];
  return textsOf(content).map((text) => ({ kind: role === 'user' ? 'user' : 'note', text }));
}

/** Tools can also be offered in the course of a conversation. */
function addedTools({ type, tools }: JsonObject): unknown[] {
  return type === 'additional_tools' ? asList(tools, 'the tools of an element of input') : [];
}

/** A namespace holds the tools of one server; a tool of the provider's own has no name but its type. */
function namesOf(tool: unknown): string[] {
  const { type, name, tools } = asObject(tool, 'an element of tools');
  const named = type === 'namespace' ? asList(tools, 'the tools of a namespace') : [{ name: name ?? type }];
  return named.flatMap((one) => (isObject(one) && typeof one.name === 'string' ? one.name : []));
}
