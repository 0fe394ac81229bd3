import { expect, test } from 'vitest';
import { codexFailure } from './codex-failure.ts';

const failed = (message: string, codexErrorInfo: unknown = 'other') => ({
  status: 'failed',
  error: { message, codexErrorInfo, additionalDetails: null },
});
const unexpected = (status: string) =>
  `unexpected status ${status}: No., url: http://127.0.0.1:1/v1/responses`;

test('a turn that was completed has not failed', () => {
  expect(codexFailure({ status: 'completed', error: null })).toBeNull();
});

test.each([
  [failed('{"error":{"type":"x","code":"x","message":"No."}}'), 'model_refused'],
  [
    failed(unexpected('401 Unauthorized'), { httpConnectionFailed: { httpStatusCode: 401 } }),
    'model_unauthorized',
  ],
  [
    failed(unexpected('402 Payment Required'), { httpConnectionFailed: { httpStatusCode: 402 } }),
    'budget_reached',
  ],
  [
    failed(unexpected('403 Forbidden'), { httpConnectionFailed: { httpStatusCode: 403 } }),
    'model_unauthorized',
  ],
  [failed(unexpected('404 Not Found'), { httpConnectionFailed: { httpStatusCode: 404 } }), 'model_refused'],
  [failed(unexpected('529 <unknown status code>')), 'model_overloaded'],
  [failed('exceeded retry limit, last status: 429 Too Many Requests'), 'model_overloaded'],
  [failed('No.', { responseTooManyFailedAttempts: { httpStatusCode: 503 } }), 'model_unreachable'],
  [failed('Quota exceeded.', 'usageLimitExceeded'), 'model_overloaded'],
  [failed('Trouble.', 'internalServerError'), 'model_unreachable'],
  [failed('stream disconnected before completion: error sending request'), 'model_unreachable'],
  [failed('Connection failed', { httpConnectionFailed: { httpStatusCode: null } }), 'model_unreachable'],
  [failed('The patch could not be read.'), 'agent_failed'],
  [failed('The patch could not be read.', 'constructor'), 'agent_failed'],
  [failed('Nested too deep.', { activeTurnNotSteerable: { turnKind: 'review' } }), 'agent_failed'],
  [{ status: 'interrupted', error: null }, 'agent_failed'],
])('%j is %s', (turn, kind) => {
  expect(codexFailure(turn)).toMatchObject({ kind });
});

test.each([
  failed('{"error":{"message":"The key is wrong."}}'),
  failed('unexpected status 401 Unauthorized: The key is wrong., url: http://127.0.0.1:1/v1, cf-ray: 1'),
  failed('unexpected status 401 Unauthorized: {"error":{"message":"The key is wrong."}}, url: http://a/v1'),
])('the sentence ends with what the provider says: %j', (turn) => {
  expect(codexFailure(turn)?.message).toMatch(/ It says: The key is wrong\.$/);
});
