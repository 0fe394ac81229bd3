import { describe, expect, test } from 'vitest';
import { isPreflight, preflightAnswer } from './cross-origin.ts';

const asked = { origin: 'null', 'access-control-request-method': 'PUT' };

describe('the question of a browser before a request', () => {
  test.each([
    ['OPTIONS', asked, true],
    ['OPTIONS', { 'access-control-request-method': 'PUT' }, false],
    ['OPTIONS', { origin: 'null' }, false],
    ['PUT', asked, false],
  ])('is known by %s with %j', (method, headers, expected) => {
    expect(isPreflight({ method, headers })).toBe(expected);
  });

  test('is answered with what it asks for, and never lets cookies go along', () => {
    const headers = { ...asked, 'access-control-request-headers': 'content-type,x-own' };
    expect(preflightAnswer({ headers })).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'PUT',
      'access-control-allow-headers': 'content-type,x-own',
    });
    expect(preflightAnswer({ headers: asked })).not.toHaveProperty('access-control-allow-headers');
    expect(preflightAnswer({ headers })).not.toHaveProperty('access-control-allow-credentials');
  });
});
