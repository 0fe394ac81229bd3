import { describe, expect, test } from 'vitest';
import { costMicros, listPrices } from './price.ts';
import type { TokenUsage } from './usage.ts';

const none: TokenUsage = {
  model: 'unknown',
  isCounted: true,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  statedUsd: null,
};

describe('the cost of an answer', () => {
  test.each<[string, Partial<TokenUsage>, number]>([
    ['claude-sonnet-4-5-20250929', { inputTokens: 1_000_000 }, 3_000_000],
    ['claude-opus-4-5', { outputTokens: 1_000 }, 25_000],
    ['claude-opus-4-1-20250805', { outputTokens: 1_000 }, 75_000],
    ['claude-opus-4-20250514', { outputTokens: 1_000 }, 75_000],
    ['anthropic/claude-opus-4', { outputTokens: 1_000 }, 75_000],
    ['anthropic/claude-sonnet-4.5', { cacheReadTokens: 10, cacheWriteTokens: 10 }, 41],
    ['Anthropic/Claude-Sonnet-4.5', { inputTokens: 1 }, 3],
    ['gpt-5.1-codex', { inputTokens: 8, outputTokens: 1 }, 20],
    ['gpt-5.1-codex-mini', { outputTokens: 1 }, 2],
    ['gpt-5-mini', { cacheReadTokens: 1 }, 1],
    ['openai/gpt-4.1', { inputTokens: 1 }, 2],
    ['claude-sonnet-4-5', {}, 0],
  ])('of %s is what its list says for %j', (model, tokens, micros) => {
    expect(costMicros({ ...none, model, ...tokens }, listPrices)).toBe(micros);
  });

  test('is rounded up once, after everything is added up', () => {
    const prices = new Map([['m', { input: 0.0004, output: 0.1, cacheRead: 0.2, cacheWrite: 0.3 }]]);
    const usage = { ...none, model: 'm', inputTokens: 1_000, outputTokens: 1, cacheReadTokens: 1 };
    expect(costMicros(usage, prices)).toBe(1);
    expect(costMicros({ ...usage, cacheWriteTokens: 1 }, prices)).toBe(1);
    expect(costMicros({ ...usage, cacheWriteTokens: 2 }, prices)).toBe(2);
  });

  test('of a model that nobody knows is what its provider says, if it says anything', () => {
    const mystery = { ...none, model: 'maker/mystery-1', inputTokens: 5 };
    expect(costMicros(mystery, listPrices)).toBeNull();
    expect(costMicros({ ...mystery, statedUsd: 0.00014 }, listPrices)).toBe(140);
    expect(costMicros({ ...mystery, statedUsd: 0.0000001 }, listPrices)).toBe(1);
    expect(costMicros({ ...mystery, statedUsd: 0 }, listPrices)).toBe(0);
  });

  test('of a model with a price is by that price, whatever its provider says', () => {
    const usage = { ...none, model: 'gpt-5', inputTokens: 1_000_000, statedUsd: 9 };
    expect(costMicros(usage, listPrices)).toBe(1_250_000);
  });

  test('of an answer that was not counted is not known', () => {
    expect(costMicros({ ...none, model: 'gpt-5', isCounted: false }, listPrices)).toBeNull();
  });
});
