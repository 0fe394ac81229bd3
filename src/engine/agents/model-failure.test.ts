import { expect, test } from 'vitest';
import { modelFailure } from './model-failure.ts';

test.each([
  [400, 'model_refused'],
  [401, 'model_unauthorized'],
  [402, 'budget_reached'],
  [403, 'model_unauthorized'],
  [404, 'model_refused'],
  [408, 'model_unreachable'],
  [413, 'model_refused'],
  [422, 'model_refused'],
  [429, 'model_overloaded'],
  [500, 'model_unreachable'],
  [502, 'model_unreachable'],
  [529, 'model_overloaded'],
  [null, 'model_unreachable'],
])('an answer with status %s is %s', (status, kind) => {
  expect(modelFailure({ status, message: 'x' })).toMatchObject({ kind });
});

test('the sentence ends with what the provider says, if it says anything', () => {
  const { message } = modelFailure({ status: 401, message: ' invalid x-api-key ' });
  expect(message).toMatch(/^The model provider refused the key.* It says: invalid x-api-key$/);
  expect(modelFailure({ status: 401, message: '' }).message).not.toMatch('says');
  expect(modelFailure({ status: 400, message: 'x'.repeat(10_000) }).message.length).toBeLessThan(3_000);
});
