import { describe, expect, test } from 'vitest';
import { createUsageTally } from './usage.ts';

const none = {
  model: 'unknown',
  isCounted: false,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  statedUsd: null,
};
const tally = (...messages: unknown[]) => {
  const sums = createUsageTally();
  for (const message of messages) sums.add(message);
  return sums.result();
};

describe('the usage in what providers say', () => {
  test.each([
    [
      'of an Anthropic message',
      [
        {
          model: 'claude-sonnet-4-5',
          usage: {
            input_tokens: 10,
            cache_creation_input_tokens: 3,
            cache_read_input_tokens: 400,
            cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 0 },
            output_tokens: 7,
            service_tier: 'standard',
          },
        },
      ],
      {
        model: 'claude-sonnet-4-5',
        inputTokens: 10,
        outputTokens: 7,
        cacheReadTokens: 400,
        cacheWriteTokens: 3,
      },
    ],
    [
      'of an Anthropic stream, whose end replaces its start',
      [
        {
          type: 'message_start',
          message: {
            model: 'claude-x',
            usage: { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 },
          },
        },
        { type: 'message_delta', delta: {}, usage: { output_tokens: 42 } },
      ],
      { model: 'claude-x', inputTokens: 10, outputTokens: 42, cacheReadTokens: 5 },
    ],
    [
      'of an OpenAI response, whose input has the cached part in it',
      [
        {
          type: 'response.completed',
          response: {
            model: 'gpt-5',
            usage: {
              input_tokens: 100,
              input_tokens_details: { cached_tokens: 60 },
              output_tokens: 20,
              output_tokens_details: { reasoning_tokens: 15 },
              total_tokens: 120,
            },
          },
        },
      ],
      { model: 'gpt-5', inputTokens: 40, outputTokens: 20, cacheReadTokens: 60 },
    ],
    [
      'of chat completions',
      [
        {
          model: 'maker/m',
          choices: [],
          usage: {
            prompt_tokens: 50,
            completion_tokens: 9,
            total_tokens: 59,
            prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 10 },
            cost: 0.0123,
          },
        },
      ],
      {
        model: 'maker/m',
        inputTokens: 20,
        outputTokens: 9,
        cacheReadTokens: 20,
        cacheWriteTokens: 10,
        statedUsd: 0.0123,
      },
    ],
    [
      'of chat completions without details',
      [{ model: 'm', usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } }],
      { model: 'm', inputTokens: 5, outputTokens: 1 },
    ],
    [
      'of more in the cache than was read',
      [{ model: 'm', usage: { prompt_tokens: 5, prompt_tokens_details: { cached_tokens: 9 } } }],
      { model: 'm', cacheReadTokens: 9 },
    ],
  ])('%s', (_what, messages, found) => {
    expect(tally(...messages)).toEqual({ ...none, isCounted: true, ...found });
  });

  test.each([
    ['no object', [null, 7, 'usage', [{ usage: {} }]]],
    ['no usage', [{ type: 'ping' }, { usage: null }, { response: { usage: 7 } }]],
    [
      'words of the model',
      [{ delta: { text: '{"usage":{"output_tokens":9}}', usage: { output_tokens: 9 } } }],
    ],
  ])('is not found in %s', (_what, messages) => {
    expect(tally(...messages)).toEqual(none);
  });

  test.each([-1, 1.5, Number.NaN, '7', null, {}, 1e300])('never counts %j', (value) => {
    const { inputTokens, outputTokens } = tally({ usage: { input_tokens: value, output_tokens: value } });
    expect([inputTokens, outputTokens]).toEqual(value === 1e300 ? [1e9, 1e9] : [0, 0]);
  });

  test('knows the model also when nothing was counted, as far as it can be stored', () => {
    expect(tally({ model: 'gpt-5', choices: [] })).toEqual({ ...none, model: 'gpt-5' });
    expect(tally({ model: `a\0\ud800${'x'.repeat(300)}` }).model).toBe(`a\ufffd${'x'.repeat(197)}`);
    expect(tally({ model: '' }, { model: 7 }).model).toBe('unknown');
  });
});
