import type { Conversation, Item } from './conversation.ts';
import { asList, asName, asObject, isObject, textsOf } from './shape.ts';

/** Reads a request of the Anthropic Messages API. */
export function readAnthropicRequest(body: unknown): Conversation {
  const { model, messages, tools, tool_choice, thinking, stream } = asObject(body, 'body');
  const mayCall = !isObject(tool_choice) || tool_choice.type !== 'none';
  return {
    model: asName(model, 'model'),
    items: asList(messages, 'messages').flatMap(toItems),
    tools: new Set(mayCall ? asList(tools ?? [], 'tools').map(nameOf) : []),
    isStreamed: stream === true,
    wantsThinking: isObject(thinking) && thinking.type !== 'disabled',
  };
}

function nameOf(tool: unknown): string {
  return asName(asObject(tool, 'an element of tools').name, 'the name of a tool');
}

function toItems(message: unknown): Item[] {
  const { role, content } = asObject(message, 'an element of messages');
  const name = asName(role, 'the role of a message');
  if (typeof content === 'string') return textItem(name, content);
  return asList(content, 'the content of a message').flatMap((block) => {
    const { type, text, content } = asObject(block, 'an element of the content of a message');
    if (type === 'tool_result') return { kind: 'result', text: textsOf(content).join('\n') };
    if (type === 'tool_use') return { kind: 'call' };
    return type === 'text' && typeof text === 'string' ? textItem(name, text) : [];
  });
}

function textItem(role: string, text: string): Item[] {
  if (role === 'assistant') return [{ kind: 'assistant' }];
  return [{ kind: role === 'user' ? 'user' : 'note', text }];
}
