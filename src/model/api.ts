import type { CodingAgent } from '../contract/message.ts';

/** Cursor speaks to its own provider, so there is no model API of its own here. */
export type ModelAgent = Exclude<CodingAgent, 'cursor'>;

type ModelPath = {
  method: 'GET' | 'POST';
  /** What the provider calls it. */
  upstream: string;
  /** Whether an answer costs something. */
  isMetered: boolean;
};

/** A model API as an agent speaks it, and how it is reached. */
export type ModelApi = {
  /** The provider's own address; paths below are appended to it. */
  usualBaseUrl: string;
  /** What agents may ask for. Everything else is refused. */
  paths: ReadonlyMap<string, ModelPath>;
  /** The headers that carry the key. */
  authorize(apiKey: string): Record<string, string>;
  /** A refusal in the provider's own shape, so that the agent shows its sentence. */
  refusal(status: number, sentence: string): unknown;
};

export const modelApis: Record<ModelAgent, ModelApi> = {
  claude: {
    usualBaseUrl: 'https://api.anthropic.com',
    paths: new Map([
      ['/v1/messages', { method: 'POST', upstream: '/v1/messages', isMetered: true }],
      [
        '/v1/messages/count_tokens',
        { method: 'POST', upstream: '/v1/messages/count_tokens', isMetered: false },
      ],
      ['/v1/models', { method: 'GET', upstream: '/v1/models', isMetered: false }],
    ]),
    authorize: (apiKey) => ({ 'x-api-key': apiKey }),
    refusal: (status, message) => ({ type: 'error', error: { type: anthropicType(status), message } }),
  },
  codex: openAi('https://api.openai.com/v1', ['/responses', '/responses/compact']),
  opencode: openAi('https://openrouter.ai/api/v1', ['/chat/completions']),
};

/** OpenAI's addresses end with the version, which agents write before the path. */
function openAi(usualBaseUrl: string, posts: readonly string[]): ModelApi {
  return {
    usualBaseUrl,
    paths: new Map<string, ModelPath>([
      ...posts.map((path): [string, ModelPath] => [
        `/v1${path}`,
        { method: 'POST', upstream: path, isMetered: true },
      ]),
      ['/v1/models', { method: 'GET', upstream: '/models', isMetered: false }],
    ]),
    authorize: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
    refusal: (status, message) => ({
      error: { message, type: 'invalid_request_error', code: String(status) },
    }),
  };
}

function anthropicType(status: number): string {
  const types: Record<number, string> = {
    401: 'authentication_error',
    402: 'billing_error',
    403: 'permission_error',
    404: 'not_found_error',
    413: 'request_too_large',
    429: 'rate_limit_error',
  };
  return types[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}
