import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ScriptedModelServer, startScriptedModel } from '../world/scripted-model.ts';
import { type Heard, type ModelApiUnderTest, modelApis, readEvents } from './model-apis.ts';

let model: ScriptedModelServer;
beforeAll(async () => {
  model = await startScriptedModel();
});
afterAll(() => model.close());

const tools = ['Bash', 'Write'];
const forms = Object.entries(modelApis).flatMap(([name, api]) => [
  { name, api, stream: true, form: 'a stream' },
  { name, api, stream: false, form: 'one piece' },
]);

function post(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(`${model.url}${path}`, { method: 'POST', body: text, ...(signal && { signal }) });
}

type Asked = Parameters<ModelApiUnderTest['request']>[0];

async function ask(api: ModelApiUnderTest, asked: Asked): Promise<Heard> {
  const answer = await post(api.path, api.request({ tools, ...asked }));
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe(asked.stream ? 'text/event-stream' : 'application/json');
  return asked.stream ? api.streamed(readEvents(await answer.text())) : api.whole(await answer.json());
}

const script = (...steps: object[]) => `Please SCRIPT:${JSON.stringify(steps)} and thanks.`;

describe.each(forms)('$name in $form', ({ name, api, stream }) => {
  test.each<[string, object, Partial<Heard>]>([
    ['says a text', { text: 'All is well, 😀.' }, { text: 'All is well, 😀.', call: null }],
    ['thinks', { think: 'Hm.', text: 'Yes.' }, { thinking: 'Hm.', text: 'Yes.' }],
    [
      'runs a command',
      { shell: 'ls' },
      { text: '', call: { name: 'Bash', input: expect.objectContaining({ command: 'ls' }) } },
    ],
    [
      'writes a file',
      { write: ['a', 'b'] },
      { call: { name: 'Write', input: { file_path: 'a', content: 'b' } } },
    ],
    [
      'calls any tool after a text',
      { text: 'So:', tool: 'T', args: { a: [1] } },
      { text: 'So:', call: { name: 'T', input: { a: [1] } } },
    ],
    ['says many words', { slow: 3, delay: 1, text: 'w' }, { text: 'w0 w1 w2 ' }],
    ['speaks after a silence', { hang: 1, text: 'Well.' }, { text: 'Well.' }],
    ['says something where the script says nothing', {}, { text: 'Done.', call: null }],
  ])('%s', async (_name, step, expected) => {
    expect(await ask(api, { text: script(step), stream })).toMatchObject(expected);
  });

  test('takes the step after as many results as there are', async () => {
    const text = script({ shell: 'a' }, { shell: 'b' }, { text: 'end' });
    const commandOf = ({ call }: Heard) => (call?.input as { command: string } | undefined)?.command;
    expect(commandOf(await ask(api, { text, stream }))).toBe('a');
    expect(commandOf(await ask(api, { text, results: ['1'], stream }))).toBe('b');
    expect((await ask(api, { text, results: ['1', '2'], stream })).text).toBe('end');
    expect((await ask(api, { text, results: ['1', '2', '3'], stream })).text).toBe('Done.');
  });

  test('tells the usage that the script wants', async () => {
    const usage = {
      inputTokens: 1_000,
      outputTokens: 200,
      cacheReadTokens: 30,
      cacheWriteTokens: 4,
      reasoningTokens: 5,
    };
    const heard = await ask(api, { text: script({ text: 'x', usage }), stream });
    expect(heard.usage).toEqual(usageBy[name as keyof typeof modelApis]);
  });

  test('counts by itself where the script does not, always the same', async () => {
    const asked = { text: script({ text: 'four words are here' }), stream };
    const [one, two] = [await ask(api, asked), await ask(api, asked)];
    expect(one.usage).toEqual(two.usage);
    const usage = one.usage as Record<string, number>;
    expect(usage.output_tokens ?? usage.completion_tokens).toBe(5);
    const bytes = JSON.stringify(api.request({ tools, ...asked })).length;
    expect(usage.input_tokens ?? usage.prompt_tokens).toBe(Math.ceil(bytes / 4));
  });

  test('answers with the error of the script', async () => {
    const error = { status: 529, type: 'overloaded_error', message: 'Too much.' };
    const answer = await post(api.path, api.request({ text: script({ error }), tools, stream }));
    expect(answer.status).toBe(529);
    expect(api.refusal(await answer.json())).toEqual({ type: 'overloaded_error', message: 'Too much.' });
  });

  test('breaks off where the script says so', async () => {
    const answer = await post(
      api.path,
      api.request({ text: script({ text: 'half', drop: true }), tools, stream }),
    );
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
  });

  test('demonstrates a tool where there is no script, then says what it is', async () => {
    const { call } = await ask(api, { text: 'Fix the bug', stream });
    expect(call?.name).toBe('Bash');
    expect(call?.input).toMatchObject({ command: expect.stringContaining("'- Fix the bug' >> ") });
    const { text } = await ask(api, { text: 'Fix the bug', results: ['NOTES.md has a new line.'], stream });
    expect(text).toMatch(/offline model/);
  });

  test('says that it has no tool where it is offered none for the step', async () => {
    const { text, call } = await ask(api, { text: script({ shell: 'ls' }), tools: ['Read'], stream });
    expect(call).toBeNull();
    expect(text).toMatch(/^I have no tool/);
  });

  test.each([
    ['has no tools', 'Title? SCRIPT:[{"drop":true}]', []],
    ['asks for a summary', 'Your task is to create a detailed summary of it.', tools],
  ])('says something harmless to a request that %s', async (_name, text, tools) => {
    const { call, text: said } = await ask(api, { text, tools, stream });
    expect([said, call]).toEqual(['Offline model', null]);
  });

  test('ends when the caller goes away', async () => {
    const gone = new AbortController();
    const text = script({ slow: 1_000, delay: 5_000, text: `${name} ${stream} ` });
    const request = api.request({ text, tools, stream });
    const answer = post(api.path, request, gone.signal).then((one) => one.text());
    const isIt = ({ body }: { body: unknown }) => JSON.stringify(body) === JSON.stringify(request);
    await model.waitFor(isIt);
    gone.abort();
    await expect(answer).rejects.toThrow();
    await model.waitFor((one) => isIt(one) && one.outcome === 'cut off');
  });
});

/** The input of Anthropic is without what the cache was asked for, that of OpenAI with it. */
const usageBy: Record<keyof typeof modelApis, object> = {
  messages: {
    input_tokens: 1_000,
    output_tokens: 200,
    cache_read_input_tokens: 30,
    cache_creation_input_tokens: 4,
  },
  responses: {
    input_tokens: 1_034,
    input_tokens_details: { cached_tokens: 30, cache_write_tokens: 4 },
    output_tokens: 200,
    output_tokens_details: { reasoning_tokens: 5 },
    total_tokens: 1_234,
  },
  'chat completions': {
    prompt_tokens: 1_034,
    prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 4 },
    completion_tokens: 200,
    completion_tokens_details: { reasoning_tokens: 5 },
    total_tokens: 1_234,
  },
};

describe.each(Object.entries(modelApis))('%s', (_name, api) => {
  const good = api.request({ text: 'x', tools, stream: false });
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

  test.each<[string, unknown]>([
    ['nothing', ''],
    ['no JSON', '{"model":'],
    ['no object', '[]'],
    ['no model', { ...good, model: undefined }],
    ['a model that is no text', { ...good, model: { a: 1 } }],
    ['a model of many words', { ...good, model: 'm'.repeat(1_000) }],
    ['no messages', { model: 'm', tools: [] }],
    ['messages that are no list', { ...good, messages: 3, input: 3 }],
    ['a message that is no object', { ...good, messages: [null], input: [null] }],
    ['tools that are no list', { ...good, tools: { 0: {} } }],
    ['a tool that is no object', { ...good, tools: ['Bash'] }],
    [
      'more messages than anybody looks at',
      { ...good, messages: Array(60_000).fill(0), input: Array(60_000).fill(0) },
    ],
    ['nesting without end', `{"model":"m","messages":${deep},"input":${deep}}`],
    ['a wrong script', api.request({ text: script({ dance: 1 }), tools, stream: true })],
  ])('refuses %s as its provider would', async (_what, body) => {
    const answer = await post(api.path, body);
    expect(answer.status).toBe(400);
    expect(api.refusal(await answer.json())).toMatchObject({
      type: 'invalid_request_error',
      message: expect.stringMatching(/./),
    });
  });

  test.each<[string, object]>([
    [
      'contents of unknown parts',
      {
        ...good,
        messages: [{ role: 'user', content: [{ type: 'image', source: 3 }] }],
        input: [{ role: 'user', content: 3 }, { type: 'new' }],
      },
    ],
    ['nothing said yet', { ...good, messages: [], input: [] }],
  ])('bears %s', async (_what, body) => {
    expect((await post(api.path, body)).status).toBe(200);
  });
});

test('the events of each API come in the order in which its provider sends them', async () => {
  const text = script({ think: 'Hm.', text: 'Hi.', shell: 'ls' });
  const namesOf = async (api: ModelApiUnderTest) => {
    const answer = await post(api.path, api.request({ text, tools, stream: true }));
    return [...(await answer.text()).matchAll(/^event: (.+)$/gm)].map(([, name]) => name);
  };
  const block = ['content_block_start', 'content_block_delta', 'content_block_stop'];
  expect(await namesOf(modelApis.messages)).toEqual([
    'message_start',
    ...block.toSpliced(1, 0, 'content_block_delta'),
    ...block,
    ...block,
    'message_delta',
    'message_stop',
  ]);
  const inItem = (...names: string[]) => ['output_item.added', ...names, 'output_item.done'];
  expect(await namesOf(modelApis.responses)).toEqual(
    [
      'created',
      'in_progress',
      ...inItem(
        'reasoning_summary_part.added',
        'reasoning_summary_text.delta',
        'reasoning_summary_text.done',
        'reasoning_summary_part.done',
      ),
      ...inItem('content_part.added', 'output_text.delta', 'output_text.done', 'content_part.done'),
      ...inItem('function_call_arguments.delta', 'function_call_arguments.done'),
      'completed',
    ].map((name) => `response.${name}`),
  );
});

test('the Responses API calls tools of namespaces and tools that take text', async () => {
  const { path, request } = modelApis.responses;
  const outputOf = async (step: object) => {
    const answer = await post(path, request({ text: script(step), tools, stream: false }));
    return ((await answer.json()) as { output: object[] }).output;
  };
  expect(await outputOf({ tool: 'a', namespace: 'b', args: {} })).toMatchObject([
    { type: 'function_call', name: 'a', namespace: 'b', arguments: '{}' },
  ]);
  expect(await outputOf({ tool: 'apply_patch', custom: true, input: '*** Begin' })).toMatchObject([
    { type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin' },
  ]);
});

test('the Responses API may offer its tools in the course of the conversation', async () => {
  const { path, request, whole } = modelApis.responses;
  const asked = request({ text: script({ shell: 'ls' }), stream: false }) as { input: object[] };
  const offer = { type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec' }] };
  const input = [{ type: 'additional_tools', role: 'developer', tools: [offer] }, ...asked.input];
  const answer = await post(path, { ...asked, tools: undefined, input });
  const body = (await answer.json()) as { output: object[] };
  expect(whole(body).text).toBe('');
  expect(body.output).toMatchObject([{ type: 'custom_tool_call', name: 'exec' }]);
});

test('models are listed, tokens counted, and what else is asked is not there', async () => {
  const list = await fetch(`${model.url}/v1/models`);
  expect(await list.json()).toMatchObject({ object: 'list', data: [{ id: 'scripted' }], has_more: false });
  const counted = await post('/v1/messages/count_tokens?beta=true', { messages: [] });
  expect(await counted.json()).toEqual({ input_tokens: 4 });
  expect((await fetch(model.url, { method: 'HEAD' })).status).toBe(200);
  expect((await fetch(`${model.url}/v1/messages`)).status).toBe(404);
  const files = await fetch(`${model.url}/v1/files`, { headers: { 'anthropic-version': '2023-06-01' } });
  expect(modelApis.messages.refusal(await files.json()).type).toBe('not_found_error');
});

test('waiting for a request that never comes ends with what has come', async () => {
  await expect(model.waitFor(() => false, 10)).rejects.toThrow(/within 10 ms.*\/v1\/models/);
});
