/** What an answer of a model has used. Input is what was read anew, without what came out of the cache. */
export type TokenUsage = {
  model: string;
  /** False when the provider has not said what it counted; everything is 0 then. */
  isCounted: boolean;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** What the provider itself says it costs, as routers do; null when it does not. */
  statedUsd: number | null;
};

type Json = Record<string, unknown>;

/**
 * Takes the usage from what a provider says, a message at a time; later words replace earlier ones. It knows the shapes of
 * all three APIs, since none can be taken for another.
 */
export function createUsageTally() {
  const found: TokenUsage = {
    model: 'unknown',
    isCounted: false,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    statedUsd: null,
  };

  function add(message: unknown): void {
    if (!isObject(message)) return;
    // Anthropic tells it at the start of a message and at its end, OpenAI with the whole response.
    for (const part of [message, message.message, message.response]) {
      if (!isObject(part)) continue;
      if (typeof part.model === 'string' && part.model !== '') found.model = storable(part.model);
      if (isObject(part.usage)) take(part.usage);
    }
  }

  function take(usage: Json): void {
    found.isCounted = true;
    found.outputTokens = count(usage.output_tokens) ?? count(usage.completion_tokens) ?? found.outputTokens;
    if (typeof usage.cost === 'number' && usage.cost >= 0) found.statedUsd = Math.min(usage.cost, MOST_USD);
    const details = firstObject(usage.input_tokens_details, usage.prompt_tokens_details);
    if (details || usage.prompt_tokens !== undefined || usage.total_tokens !== undefined)
      takeOpenAiInput(usage, details);
    else takeAnthropicInput(usage);
  }

  function takeAnthropicInput(usage: Json): void {
    found.inputTokens = count(usage.input_tokens) ?? found.inputTokens;
    found.cacheReadTokens = count(usage.cache_read_input_tokens) ?? found.cacheReadTokens;
    found.cacheWriteTokens = count(usage.cache_creation_input_tokens) ?? found.cacheWriteTokens;
  }

  /** Here what has to do with the cache is part of the input. */
  function takeOpenAiInput(usage: Json, details: Json | null): void {
    const input = count(usage.input_tokens) ?? count(usage.prompt_tokens);
    if (input === null) return;
    found.cacheReadTokens = count(details?.cached_tokens) ?? 0;
    found.cacheWriteTokens = count(details?.cache_write_tokens) ?? 0;
    found.inputTokens = Math.max(0, input - found.cacheReadTokens - found.cacheWriteTokens);
  }

  return { add, result: (): TokenUsage => ({ ...found }) };
}

const MOST_TOKENS = 1_000_000_000;
const MOST_USD = 1_000_000;

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0
    ? Math.min(value, MOST_TOKENS)
    : null;
}

/** The database takes no NUL and no half of a character. */
function storable(model: string): string {
  return model.slice(0, 200).replaceAll('\0', '').toWellFormed();
}

function firstObject(...values: unknown[]): Json | null {
  return values.find(isObject) ?? null;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
