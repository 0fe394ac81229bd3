import { describe, expect, test } from 'vitest';
import { cookieFromProgram, cookiesForProgram, sessionCookie, sessionsIn } from './cookies.ts';

const path = { form: 'path', prefix: '/p/a/3000' } as const;
const host = { form: 'host', prefix: '' } as const;

describe('cookies to a program', () => {
  test.each([
    ['replica.session_token=s; replica_preview=x; other=1', null, 'replica.session_token=s; other=1'],
    ['replica_preview.theme=dark; replica_preview=x', 'theme=dark', 'replica_preview.theme=dark'],
    ['a=b=c;  replica_preview.q="x y"', 'q="x y"', 'a=b=c; replica_preview.q="x y"'],
    ['replica_preview=x', null, null],
    ['nameless', null, null],
    [undefined, null, null],
  ])('of %s are its own under /p/, and all but the session at its host', (header, underPath, atHost) => {
    expect(cookiesForProgram(header, path)).toBe(underPath);
    expect(cookiesForProgram(header, host)).toBe(atHost);
  });
});

describe('a cookie from a program', () => {
  test.each([
    ['a=1', 'replica_preview.a=1; Path=/p/a/3000/', 'a=1'],
    [
      'a=1; Path=/x; Domain=example.com; HttpOnly',
      'replica_preview.a=1; HttpOnly; Path=/p/a/3000/',
      'a=1; Path=/x; HttpOnly',
    ],
    ['a=1; domain =.example.com', 'replica_preview.a=1; Path=/p/a/3000/', 'a=1'],
    ['replica_preview=x; Path=/', 'replica_preview.replica_preview=x; Path=/p/a/3000/', null],
    [' replica_preview =x', 'replica_preview.replica_preview=x; Path=/p/a/3000/', null],
    [
      'replica.session_token=x',
      'replica_preview.replica.session_token=x; Path=/p/a/3000/',
      'replica.session_token=x',
    ],
    ['=replica_preview=x', null, null],
    ['nameless', null, null],
    ['', null, null],
  ])('%s stays with its preview', (header, underPath, atHost) => {
    expect(cookieFromProgram(header, path)).toBe(underPath);
    expect(cookieFromProgram(header, host)).toBe(atHost);
  });
});

describe('the session', () => {
  test('is a cookie for one preview that scripts and other sites cannot use', () => {
    const session = { value: 'v', maxAgeMs: 60_000, isSecure: true };
    expect(sessionCookie(session, path)).toBe(
      'replica_preview=v; Path=/p/a/3000/; Max-Age=60; HttpOnly; SameSite=Lax; Secure',
    );
    expect(sessionCookie({ ...session, isSecure: false }, host)).toBe(
      'replica_preview=v; Path=/; Max-Age=60; HttpOnly; SameSite=Lax',
    );
  });

  test('is looked for under every cookie of its name, up to a bound', () => {
    expect(sessionsIn('replica_preview=a; x=1; replica_preview=b')).toEqual(['a', 'b']);
    expect(sessionsIn(Array(50).fill('replica_preview=a').join(';'))).toHaveLength(4);
    expect(sessionsIn(undefined)).toEqual([]);
  });
});
