import { describe, expect, test } from 'vitest';
import { AppError } from '../contract/error.ts';
import { toAppError } from './error-answer.ts';

const errorWith = (fields: object, message = 'it failed') => Object.assign(new Error(message), fields);

describe('toAppError', () => {
  test.each([
    ['a refusal of ours', new AppError('forbidden', 'No.'), 'forbidden'],
    ['a body that is too large', errorWith({ code: 'FST_ERR_CTP_BODY_TOO_LARGE' }), 'payload_too_large'],
    ['a database socket that is gone', errorWith({ code: 'ECONNREFUSED' }), 'unavailable'],
    ['a connection that broke', errorWith({}, 'Connection terminated unexpectedly'), 'unavailable'],
    [
      'a caller who went away',
      errorWith({ code: 'ECONNRESET', statusCode: 400 }, 'aborted'),
      'invalid_request',
    ],
    ['anything else', errorWith({}), 'internal_error'],
    ['what is no error', 'text', 'internal_error'],
  ])('%s', (_, thrown, code) => {
    expect(toAppError(thrown).code).toBe(code);
  });
});
