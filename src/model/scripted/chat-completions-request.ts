import type { Conversation, Item } from './conversation.ts';
import { asList, asName, asObject, isObject, textsOf } from './shape.ts';

/** Reads a request of the chat completions API, of OpenAI and of those who speak like it. */
export function readChatCompletionsRequest(body: unknown): Conversation {
  const { model, messages, tools, tool_choice, stream } = asObject(body, 'body');
  const mayCall = tool_choice !== 'none';
  return {
    model: asName(model, 'model'),
    items: asList(messages, 'messages').flatMap(toItems),
    tools: new Set(mayCall ? asList(tools ?? [], 'tools').flatMap(namesOf) : []),
    isStreamed: stream === true,
    wantsThinking: true,
  };
}

function toItems(message: unknown): Item[] {
  const { role, content, tool_calls } = asObject(message, 'an element of messages');
  const name = asName(role, 'the role of a message');
  if (name === 'assistant') {
    const hasCalls = Array.isArray(tool_calls) && tool_calls.length > 0;
    return [{ kind: hasCalls ? 'call' : 'assistant' }];
  }
  const texts = textsOf(content);
  if (name === 'tool') return [{ kind: 'result', text: texts.join('\n') }];
  return texts.map((text) => ({ kind: name === 'user' ? 'user' : 'note', text }));
}

/** Only functions have a name. */
function namesOf(tool: unknown): string[] {
  const { function: called } = asObject(tool, 'an element of tools');
  return isObject(called) ? [asName(called.name, 'the name of a function')] : [];
}
