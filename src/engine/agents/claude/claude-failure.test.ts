import { expect, test } from 'vitest';
import { claudeFailure } from './claude-failure.ts';

const failed = { is_error: true, subtype: 'success', terminal_reason: 'api_error', api_error_status: null };

test('a result without an error is no failure', () => {
  expect(claudeFailure({ is_error: false, subtype: 'success', result: 'Done.' })).toBeNull();
});

test.each([
  [
    'a refused request',
    { api_error_status: 400, result: 'API Error: 400 prompt is too long' },
    'model_refused',
    /It says: prompt is too long$/,
  ],
  [
    'a refused key',
    { api_error_status: 401, result: 'Failed to authenticate. API Error: 401 invalid x-api-key' },
    'model_unauthorized',
    /It says: invalid x-api-key$/,
  ],
  [
    'a model that is not there',
    {
      api_error_status: 404,
      result: "There's an issue with the selected model (x). Run --model to pick a different model.",
    },
    'model_refused',
    /selected model \(x\)\.$/,
  ],
  [
    'too many requests',
    { api_error_status: 429, result: 'API Error: Request rejected (429) · slow down' },
    'model_overloaded',
    /It says: slow down$/,
  ],
  [
    'trouble at the provider',
    {
      api_error_status: 500,
      result: 'API Error: 500 oops. This is a server-side issue, usually temporary — try again in a moment.',
    },
    'model_unreachable',
    /It says: oops$/,
  ],
  [
    'no connection',
    {
      result:
        'API Error: Connection dropped (ECONNRESET). Check the gateway set in ANTHROPIC_BASE_URL, then …',
    },
    'model_unreachable',
    /It says: Connection dropped \(ECONNRESET\)\.$/,
  ],
  [
    'an image that is too large',
    { terminal_reason: 'image_error', result: 'Image was too large.' },
    'agent_failed',
    'Claude could not go on: Image was too large.',
  ],
  [
    'another reason',
    { terminal_reason: 'aborted_tools', errors: ['a', 1, 'b'] },
    'agent_failed',
    'Claude could not go on: a; b',
  ],
  ['no reason', { terminal_reason: null }, 'agent_failed', 'Claude could not go on.'],
])('%s is a failure of its kind, in the words of the provider', (_name, result, kind, sentence) => {
  expect(claudeFailure({ ...failed, ...result })).toMatchObject({
    kind,
    message: expect.stringMatching(sentence),
  });
});

test('a message that was never begun is a failure', () => {
  expect(claudeFailure(null)).toMatchObject({ kind: 'agent_failed' });
});
