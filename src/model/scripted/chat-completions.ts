import { readChatCompletionsRequest } from './chat-completions-request.ts';
import { DroppedError, dataFrame, paced } from './frames.ts';
import type { Provider } from './provider.ts';
import type { Reply } from './reply.ts';
import type { Usage } from './step.ts';

/** The chat completions API, of OpenAI and of those who speak like it. */
export const chatCompletions: Provider = {
  read: readChatCompletionsRequest,
  refusal: ({ type, code, message }) => ({ error: { type, code: code ?? type, message, param: null } }),
  whole(reply) {
    const { pieces, thinking } = reply;
    const calls = toolCalls(reply).map(({ index: _, ...call }) => call);
    const message = {
      role: 'assistant',
      content: pieces.join('') || null,
      ...(thinking !== null && thought(thinking)),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    const choice = { index: 0, message, finish_reason: finishReason(reply) };
    return { ...head(reply, 'chat.completion'), choices: [choice], usage: usageOf(reply.usage) };
  },
  frames,
};

async function* frames(reply: Reply, signal: AbortSignal): AsyncGenerator<string> {
  const first = head(reply, 'chat.completion.chunk');
  const chunk = (delta: object, finish_reason: string | null = null) =>
    dataFrame({ ...first, choices: [{ index: 0, delta, finish_reason }] });
  yield chunk({ role: 'assistant', content: '' });
  if (reply.thinking !== null) yield chunk(thought(reply.thinking));
  for await (const content of paced(reply, signal)) yield chunk({ content });
  if (reply.isDropped) throw new DroppedError();
  const tool_calls = toolCalls(reply);
  if (tool_calls.length > 0) yield chunk({ tool_calls });
  yield chunk({}, finishReason(reply));
  yield dataFrame({ ...first, choices: [], usage: usageOf(reply.usage) });
  yield 'data: [DONE]\n\n';
}

/** There is no one name for thoughts; readers take the one they know. */
function thought(text: string) {
  return { reasoning: text, reasoning_content: text };
}

function head({ id, createdAt, model }: Reply, object: string) {
  return { id: id('chatcmpl'), object, created: Math.floor(createdAt.getTime() / 1_000), model };
}

function toolCalls({ id, call }: Reply) {
  if (call === null) return [];
  const given = 'args' in call ? call.args : { input: call.input };
  const called = { name: call.name, arguments: JSON.stringify(given) };
  return [{ index: 0, id: id('call'), type: 'function', function: called }];
}

function finishReason({ call }: Reply): string {
  return call === null ? 'stop' : 'tool_calls';
}

/** Here the input contains what the cache was asked for and the output what was thought. */
function usageOf({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens }: Usage) {
  const read = inputTokens + cacheReadTokens + cacheWriteTokens;
  return {
    prompt_tokens: read,
    completion_tokens: outputTokens,
    total_tokens: read + outputTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}
