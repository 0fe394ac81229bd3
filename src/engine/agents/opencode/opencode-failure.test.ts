import { describe, expect, test } from 'vitest';
import { opencodeFailure, retryFailure } from './opencode-failure.ts';

const api = (statusCode: number | undefined, message = 'x') => ({
  name: 'APIError',
  data: { message, ...(statusCode && { statusCode }) },
});
const other = (name: string, message = 'x') => ({ name, data: { message } });

describe('an error of opencode', () => {
  test.each([
    [api(401), 'model_unauthorized'],
    [api(402), 'budget_reached'],
    [api(404), 'model_refused'],
    [api(429), 'model_overloaded'],
    [api(503), 'model_unreachable'],
    [api(undefined, 'Cannot connect to API: no'), 'model_unreachable'],
    [other('ProviderAuthError'), 'model_unauthorized'],
    [other('ContextOverflowError'), 'model_refused'],
    [other('UnknownError', '{"code":429,"message":"slowly"}'), 'model_overloaded'],
    [other('UnknownError', '{"code":7}'), 'agent_failed'],
    [other('UnknownError'), 'agent_failed'],
    [{}, 'agent_failed'],
  ])('%j is %s', (error, kind) => {
    expect(opencodeFailure(error)).toMatchObject({ kind });
  });

  test.each([
    [api(401, 'No such key'), /It says: No such key$/],
    [api(undefined, 'Closed. For more information, pass `verbose: true` to fetch()'), /It says: Closed\.$/],
    [other('UnknownError', '{"code":502,"message":"Upstream broke"}'), /It says: Upstream broke$/],
    [other('UnknownError', 'Lost it\n    at run (/x/chunk.js:1:2)\n    at y'), /go on: Lost it$/],
    [{}, /^OpenCode could not go on\.$/],
  ])('%j ends with the words that matter', (error, sentence) => {
    expect(opencodeFailure(error).message).toMatch(sentence);
  });
});

describe('retries that are given up', () => {
  test.each([
    ['Cannot connect to API: no', 2_000, 'model_unreachable'],
    ['Bad Gateway', 2_000, 'model_unreachable'],
    ['Provider returned error', 2_000, 'model_unreachable'],
    ['Provider returned error', 3_600_000, 'model_overloaded'],
    ['Rate limit reached', 2_000, 'model_overloaded'],
    ['{"code":529,"message":"busy"}', 2_000, 'model_overloaded'],
    ['{"code":502,"message":"busy"}', 2_000, 'model_unreachable'],
  ])('after "%s" and with a wait of %i ms are %s', (words, waitMs, kind) => {
    expect(retryFailure({ words, waitMs })).toMatchObject({ kind });
  });
});
