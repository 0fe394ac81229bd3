import { readAnthropicRequest } from './anthropic-request.ts';
import { DroppedError, namedFrame, paced } from './frames.ts';
import type { Provider } from './provider.ts';
import type { Reply } from './reply.ts';
import type { Usage } from './step.ts';

/** Thoughts carry a signature that only their provider can check. */
const SIGNATURE = 'b2ZmbGluZQ==';

/** The Anthropic Messages API. */
export const anthropic: Provider = {
  read: readAnthropicRequest,
  refusal: ({ type, message }) => ({ type: 'error', error: { type, message } }),
  whole(reply) {
    const { thinking, pieces } = reply;
    const content = [
      ...(thinking === null ? [] : [{ type: 'thinking', thinking, signature: SIGNATURE }]),
      ...(pieces.length === 0 ? [] : [{ type: 'text', text: pieces.join('') }]),
      ...toolUse(reply),
    ];
    return { ...emptyMessage(reply), content, stop_reason: stopReason(reply), usage: usageOf(reply.usage) };
  },
  frames,
};

async function* frames(reply: Reply, signal: AbortSignal): AsyncGenerator<string> {
  let index = 0;
  yield namedFrame('message_start', { message: emptyMessage(reply) });
  if (reply.thinking !== null) {
    yield start(index, { type: 'thinking', thinking: '', signature: '' });
    yield delta(index, { type: 'thinking_delta', thinking: reply.thinking });
    yield delta(index, { type: 'signature_delta', signature: SIGNATURE });
    yield stop(index++);
  }
  if (reply.pieces.length > 0) {
    yield start(index, { type: 'text', text: '' });
    for await (const text of paced(reply, signal)) yield delta(index, { type: 'text_delta', text });
    if (!reply.isDropped) yield stop(index++);
  }
  if (reply.isDropped) throw new DroppedError();
  for (const { input, ...block } of toolUse(reply)) {
    yield start(index, { ...block, input: {} });
    yield delta(index, { type: 'input_json_delta', partial_json: JSON.stringify(input) });
    yield stop(index++);
  }
  yield namedFrame('message_delta', {
    delta: { stop_reason: stopReason(reply), stop_sequence: null },
    usage: usageOf(reply.usage),
  });
  yield namedFrame('message_stop', {});
}

const start = (index: number, block: object) =>
  namedFrame('content_block_start', { index, content_block: block });
const delta = (index: number, piece: object) => namedFrame('content_block_delta', { index, delta: piece });
const stop = (index: number) => namedFrame('content_block_stop', { index });

/** The message with which a stream begins: nothing but the input is counted yet. */
function emptyMessage({ id, model, usage }: Reply) {
  return {
    id: id('msg'),
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: usageOf({ ...usage, outputTokens: Math.min(1, usage.outputTokens) }),
  };
}

function toolUse({ id, call }: Reply) {
  if (call === null) return [];
  const input = 'args' in call ? call.args : { input: call.input };
  return [{ type: 'tool_use', id: id('toolu'), name: call.name, input }];
}

function stopReason({ call }: Reply): string {
  return call === null ? 'end_turn' : 'tool_use';
}

function usageOf({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Usage) {
  return {
    input_tokens: inputTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cacheReadTokens,
    output_tokens: outputTokens,
  };
}
