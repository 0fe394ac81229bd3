/** What was read off an answer of a model API, in one form for all of them. */
export type Heard = {
  thinking: string;
  text: string;
  call: { name: string; input: unknown } | null;
  /** As the API says it. */
  usage: unknown;
};

export type ModelApiUnderTest = {
  path: string;
  /** A request with one message of the user and the results of the tools that were called for it. */
  request(asked: { text: string; results?: string[]; tools?: string[]; stream: boolean }): object;
  whole(body: Json): Heard;
  streamed(events: Json[]): Heard;
  /** The kind and the sentence of a refusal. */
  refusal(body: Json): { type: string; message: string };
};

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the parts of an answer it is about.
type Json = any;

/** The three model APIs, written down apart from the code that is tested. */
export const modelApis: Record<'messages' | 'responses' | 'chat completions', ModelApiUnderTest> = {
  messages: {
    path: '/v1/messages',
    request: ({ text, results = [], tools = [], stream }) => ({
      model: 'm',
      max_tokens: 100,
      thinking: { type: 'adaptive' },
      stream,
      tools: tools.map((name) => ({ name, input_schema: { type: 'object' } })),
      messages: [
        { role: 'user', content: [{ type: 'text', text }] },
        ...results.flatMap((content, at) => [
          { role: 'assistant', content: [{ type: 'tool_use', id: `t${at}`, name: 'x', input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: `t${at}`, content }] },
        ]),
      ],
    }),
    whole(body) {
      const part = (type: string) => body.content.find((block: Json) => block.type === type);
      const call = part('tool_use');
      return {
        thinking: part('thinking')?.thinking ?? '',
        text: part('text')?.text ?? '',
        call: call ? { name: call.name, input: call.input } : null,
        usage: body.usage,
      };
    },
    streamed(events) {
      const pieces = (key: string) => events.map(({ delta }) => delta?.[key] ?? '').join('');
      const call = events.find(({ content_block }) => content_block?.type === 'tool_use')?.content_block;
      return {
        thinking: pieces('thinking'),
        text: pieces('text'),
        call: call ? { name: call.name, input: JSON.parse(pieces('partial_json')) } : null,
        usage: events.find(({ type }) => type === 'message_delta')?.usage,
      };
    },
    refusal: ({ type, error }) => ({
      type: type === 'error' ? error.type : 'not an error',
      message: error.message,
    }),
  },
  responses: {
    path: '/v1/responses',
    request: ({ text, results = [], tools = [], stream }) => ({
      model: 'm',
      stream,
      tools: tools.map((name) => ({ type: 'function', name, parameters: {} })),
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
        ...results.flatMap((output, at) => [
          { type: 'function_call', call_id: `t${at}`, name: 'x', arguments: '{}' },
          { type: 'function_call_output', call_id: `t${at}`, output },
        ]),
      ],
    }),
    whole(body) {
      const item = (type: string) => body.output.find((one: Json) => one.type === type);
      const call = item('function_call');
      return {
        thinking: item('reasoning')?.summary[0].text ?? '',
        text: item('message')?.content[0].text ?? '',
        call: call ? { name: call.name, input: JSON.parse(call.arguments) } : null,
        usage: body.usage,
      };
    },
    streamed(events) {
      const pieces = (name: string) =>
        events.map(({ type, delta }) => (type === `response.${name}.delta` ? delta : '')).join('');
      const call = events.find(({ item }) => item?.type === 'function_call')?.item;
      return {
        thinking: pieces('reasoning_summary_text'),
        text: pieces('output_text'),
        call: call ? { name: call.name, input: JSON.parse(pieces('function_call_arguments')) } : null,
        usage: events.at(-1).response?.usage,
      };
    },
    refusal: ({ error }) => ({ type: error.type, message: error.message }),
  },
  'chat completions': {
    path: '/v1/chat/completions',
    request: ({ text, results = [], tools = [], stream }) => ({
      model: 'm',
      stream,
      tools: tools.map((name) => ({ type: 'function', function: { name, parameters: {} } })),
      messages: [
        { role: 'system', content: 'Be nice.' },
        { role: 'user', content: text },
        ...results.flatMap((content, at) => [
          {
            role: 'assistant',
            content: '',
            tool_calls: [{ id: `t${at}`, type: 'function', function: { name: 'x', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: `t${at}`, content },
        ]),
      ],
    }),
    whole: ({ choices: [{ message }], usage }) => ({
      thinking: message.reasoning ?? '',
      text: message.content ?? '',
      call: calledOf(message.tool_calls),
      usage,
    }),
    streamed(events) {
      const deltas = events.flatMap(({ choices }) => choices.map(({ delta }: Json) => delta));
      return {
        thinking: deltas.map(({ reasoning }) => reasoning ?? '').join(''),
        text: deltas.map(({ content }) => content ?? '').join(''),
        call: calledOf(deltas.find(({ tool_calls }) => tool_calls)?.tool_calls),
        usage: events.at(-1).usage,
      };
    },
    refusal: ({ error }) => ({ type: error.type, message: error.message }),
  },
};

/** The events of a stream; the mark at the end of chat completions is not one. */
export function readEvents(text: string): Json[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
    .map((line) => JSON.parse(line.slice(6)));
}

function calledOf(calls: Json): Heard['call'] {
  if (!calls) return null;
  const [{ function: called }] = calls;
  return { name: called.name, input: JSON.parse(called.arguments) };
}
