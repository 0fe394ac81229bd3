import type { TokenUsage } from './usage.ts';

/** Dollars for a million tokens. */
export type ModelPrice = { input: number; output: number; cacheRead: number; cacheWrite: number };
/** By the beginning of a model's name, without its maker; the longest that fits counts. */
export type ModelPrices = ReadonlyMap<string, ModelPrice>;

/** What an answer costs, in millionths of a dollar, rounded up; null when nobody knows. */
export function costMicros(usage: TokenUsage, prices: ModelPrices): number | null {
  if (!usage.isCounted) return null;
  const price = priceOf(usage.model, prices);
  if (price) return Math.ceil(parts(price, usage).reduce((sum, each) => sum + each, 0) / MICRO);
  return usage.statedUsd === null ? null : Math.ceil(Math.round(usage.statedUsd * 1e9) / 1e3);
}

const MICRO = 1_000_000;

/** Dollars for a million are millionths for one; whole numbers of a millionth of those add up exactly. */
function parts(price: ModelPrice, usage: TokenUsage): number[] {
  return [
    usage.inputTokens * Math.round(price.input * MICRO),
    usage.outputTokens * Math.round(price.output * MICRO),
    usage.cacheReadTokens * Math.round(price.cacheRead * MICRO),
    usage.cacheWriteTokens * Math.round(price.cacheWrite * MICRO),
  ];
}

function priceOf(model: string, prices: ModelPrices): ModelPrice | null {
  // A router writes the maker before the name, and some write versions with a dot.
  const name = (model.split('/').at(-1) ?? model).toLowerCase();
  const spellings = [name, name.replaceAll('.', '-')];
  const fitting = [...prices.keys()].filter((key) => spellings.some((spelling) => spelling.startsWith(key)));
  const longest = fitting.toSorted((a, b) => b.length - a.length)[0];
  return longest === undefined ? null : (prices.get(longest) ?? null);
}

const opus = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };
const fastOpus = { input: 10, output: 50, cacheRead: 1, cacheWrite: 12.5 };

/** List prices as the providers publish them. They change, so an operator can give others: REPLICA_MODEL_PRICES. */
export const listPrices: ModelPrices = new Map(
  Object.entries({
    'claude-opus-4': { input: 15, output: 75, cacheRead: 1.5, cacheWrite: 18.75 },
    'claude-opus-4-5': opus,
    'claude-opus-4-6': opus,
    'claude-opus-4-7': opus,
    'claude-opus-4-8': opus,
    'claude-opus-4-8-fast': fastOpus,
    'claude-opus-5': opus,
    'claude-opus-5-fast': fastOpus,
    'claude-sonnet-5': { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 },
    'claude-sonnet-4': { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
    'claude-haiku-4': { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 },
    'claude-3-5-haiku': { input: 0.8, output: 4, cacheRead: 0.08, cacheWrite: 1 },
    'gpt-5': { input: 1.25, output: 10, cacheRead: 0.125, cacheWrite: 1.25 },
    'gpt-5-mini': { input: 0.25, output: 2, cacheRead: 0.025, cacheWrite: 0.25 },
    'gpt-5-nano': { input: 0.05, output: 0.4, cacheRead: 0.005, cacheWrite: 0.05 },
    'gpt-5-pro': { input: 15, output: 120, cacheRead: 15, cacheWrite: 15 },
    'gpt-5.1-codex-mini': { input: 0.25, output: 2, cacheRead: 0.025, cacheWrite: 0.25 },
    'gpt-5.2': { input: 1.75, output: 14, cacheRead: 0.175, cacheWrite: 1.75 },
    'gpt-5.2-pro': { input: 21, output: 168, cacheRead: 21, cacheWrite: 21 },
    'gpt-4.1': { input: 2, output: 8, cacheRead: 0.5, cacheWrite: 2 },
    'gpt-4.1-mini': { input: 0.4, output: 1.6, cacheRead: 0.1, cacheWrite: 0.4 },
    'gpt-4.1-nano': { input: 0.1, output: 0.4, cacheRead: 0.025, cacheWrite: 0.1 },
    'gemini-2.5-pro': { input: 1.25, output: 10, cacheRead: 0.31, cacheWrite: 1.25 },
    'gemini-2.5-flash': { input: 0.3, output: 2.5, cacheRead: 0.075, cacheWrite: 0.3 },
    'gemini-2.5-flash-lite': { input: 0.1, output: 0.4, cacheRead: 0.025, cacheWrite: 0.1 },
  }),
);
