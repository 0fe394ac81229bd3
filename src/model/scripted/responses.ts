import { DroppedError, namedFrame, paced } from './frames.ts';
import type { Provider } from './provider.ts';
import type { Reply } from './reply.ts';
import { readResponsesRequest } from './responses-request.ts';
import type { Usage } from './step.ts';

/** The OpenAI Responses API. */
export const responses: Provider = {
  read: readResponsesRequest,
  refusal: ({ type, code, message }) => ({ error: { type, code: code ?? type, message, param: null } }),
  whole: (reply) => completed(reply, outputOf(reply)),
  frames,
};

async function* frames(reply: Reply, signal: AbortSignal): AsyncGenerator<string> {
  let sequence = 0;
  const frame = (type: string, data: object) => namedFrame(type, { sequence_number: sequence++, ...data });
  const output = outputOf(reply);
  const whole = completed(reply, output);
  const begun = { ...whole, status: 'in_progress', output: [], usage: null };
  yield frame('response.created', { response: begun });
  yield frame('response.in_progress', { response: begun });
  for (const [output_index, item] of output.entries()) {
    const place = { item_id: item.id, output_index };
    yield frame('response.output_item.added', { output_index, item: emptied(item) });
    if (item.type === 'reasoning') yield* thinkingFrames(frame, { ...place, summary_index: 0 }, item.summary);
    if (item.type === 'message') yield* textFrames(frame, { ...place, content_index: 0 }, reply, signal);
    if (item.type === 'message' && reply.isDropped) throw new DroppedError();
    if (item.type === 'function_call') {
      yield frame('response.function_call_arguments.delta', { ...place, delta: item.arguments });
      yield frame('response.function_call_arguments.done', { ...place, arguments: item.arguments });
    }
    if (item.type === 'custom_tool_call') {
      yield frame('response.custom_tool_call_input.delta', { ...place, delta: item.input });
      yield frame('response.custom_tool_call_input.done', { ...place, input: item.input });
    }
    yield frame('response.output_item.done', { output_index, item });
  }
  if (reply.isDropped) throw new DroppedError();
  yield frame('response.completed', { response: whole });
}

type Frame = (type: string, data: object) => string;

function* thinkingFrames(frame: Frame, place: object, [part]: SummaryPart[]): Generator<string> {
  yield frame('response.reasoning_summary_part.added', { ...place, part: { ...part, text: '' } });
  yield frame('response.reasoning_summary_text.delta', { ...place, delta: part?.text });
  yield frame('response.reasoning_summary_text.done', { ...place, text: part?.text });
  yield frame('response.reasoning_summary_part.done', { ...place, part });
}

async function* textFrames(
  frame: Frame,
  place: object,
  reply: Reply,
  signal: AbortSignal,
): AsyncGenerator<string> {
  yield frame('response.content_part.added', { ...place, part: textPart('') });
  for await (const delta of paced(reply, signal))
    yield frame('response.output_text.delta', { ...place, delta });
  if (reply.isDropped) return;
  const text = reply.pieces.join('');
  yield frame('response.output_text.done', { ...place, text });
  yield frame('response.content_part.done', { ...place, part: textPart(text) });
}

type SummaryPart = { type: 'summary_text'; text: string };
type OutputItem =
  | { type: 'reasoning'; id: string; summary: SummaryPart[]; encrypted_content: null }
  | { type: 'message'; id: string; role: 'assistant'; status: string; content: object[] }
  | { type: 'function_call'; id: string; call_id: string; status: string; name: string; arguments: string }
  | { type: 'custom_tool_call'; id: string; call_id: string; status: string; name: string; input: string };

const textPart = (text: string) => ({ type: 'output_text', text, annotations: [] });

function outputOf({ id, thinking, pieces, call }: Reply): OutputItem[] {
  const items: OutputItem[] = [];
  const status = 'completed';
  if (thinking !== null) {
    const summary: SummaryPart[] = [{ type: 'summary_text', text: thinking }];
    items.push({ type: 'reasoning', id: id('rs'), summary, encrypted_content: null });
  }
  if (pieces.length > 0) {
    const content = [textPart(pieces.join(''))];
    items.push({ type: 'message', id: id('msg'), role: 'assistant', status, content });
  }
  if (call !== null && 'input' in call) {
    items.push({ type: 'custom_tool_call', id: id('ctc'), call_id: id('call'), status, ...call });
  } else if (call !== null) {
    const { name, namespace, args } = call;
    items.push({
      type: 'function_call',
      id: id('fc'),
      call_id: id('call'),
      status,
      name,
      ...(namespace !== null && { namespace }),
      arguments: JSON.stringify(args),
    });
  }
  return items;
}

/** An item as it is announced, before its content is streamed. */
function emptied(item: OutputItem): OutputItem {
  if (item.type === 'reasoning') return { ...item, summary: [] };
  if (item.type === 'message') return { ...item, status: 'in_progress', content: [] };
  if (item.type === 'function_call') return { ...item, status: 'in_progress', arguments: '' };
  return { ...item, status: 'in_progress', input: '' };
}

function completed({ id, createdAt, model, usage }: Reply, output: OutputItem[]) {
  return {
    id: id('resp'),
    object: 'response',
    created_at: Math.floor(createdAt.getTime() / 1_000),
    status: 'completed',
    error: null,
    incomplete_details: null,
    model,
    output,
    usage: usageOf(usage),
  };
}

/** Here the input contains what the cache was asked for and the output what was thought. */
function usageOf({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens }: Usage) {
  const read = inputTokens + cacheReadTokens + cacheWriteTokens;
  return {
    input_tokens: read,
    input_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: read + outputTokens,
  };
}
