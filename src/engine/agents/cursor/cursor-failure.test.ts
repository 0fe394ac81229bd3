import { expect, test } from 'vitest';
import { cursorFailure } from './cursor-failure.ts';

test.each([
  [{ name: 'AuthenticationError', code: 'unknown', status: 401, message: 'No.' }, 'model_unauthorized'],
  [
    { name: 'UnknownAgentError', code: 'unknown', status: 403, message: '[unknown] No.' },
    'model_unauthorized',
  ],
  [{ name: 'NetworkError', status: 500, message: 'No.' }, 'model_unreachable'],
  [{ name: 'NetworkError', message: 'Network request failed' }, 'model_unreachable'],
  [{ name: 'RateLimitError', message: 'Slow down.' }, 'model_overloaded'],
  [{ name: 'ConfigurationError', message: 'Cannot use this model: x.' }, 'model_refused'],
  [{ name: 'ConfigurationError', message: 'Something else is missing.' }, 'model_refused'],
  [{ name: 'ConfigurationError', code: 'BAD_USER_API_KEY', message: 'No.' }, 'model_unauthorized'],
  [{ code: 'unauthenticated', message: 'No.' }, 'model_unauthorized'],
  [{ code: 'resource_exhausted', message: 'No.' }, 'model_overloaded'],
  [{ code: 'API_KEY_RATE_LIMIT', message: 'No.' }, 'model_overloaded'],
  [{ code: 'PRO_USER_USAGE_LIMIT', message: 'No.' }, 'budget_reached'],
  [{ code: 'AUTH_TOKEN_EXPIRED', message: 'No.' }, 'model_unauthorized'],
  [{ code: 'MODEL_BLOCKED', message: 'No.' }, 'model_refused'],
  [{ code: 'TIMEOUT', message: 'No.' }, 'model_unreachable'],
  [
    { message: '[unknown] Failed to connect to API key exchange endpoint: fetch failed' },
    'model_unreachable',
  ],
  [{ message: '[unknown] Server error during API key exchange: {}' }, 'model_unreachable'],
  [{ message: 'Rate limited during API key exchange.' }, 'model_overloaded'],
  [{ message: 'Invalid API key. Please check your Cursor API key.' }, 'model_unauthorized'],
  [{ name: 'UnknownAgentError', message: 'The plan could not be read.' }, 'agent_failed'],
  [{ name: 'constructor', message: '' }, 'agent_failed'],
  [{}, 'agent_failed'],
])('%j is %s', (error, kind) => {
  expect(cursorFailure(error)).toMatchObject({ kind });
});

test('the sentence ends with what Cursor says, without the code before it', () => {
  const { message } = cursorFailure({ status: 401, message: '[unknown] This key is revoked.' });
  expect(message).toMatch(/ It says: This key is revoked\.$/);
});
