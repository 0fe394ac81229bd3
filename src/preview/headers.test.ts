import { describe, expect, test } from 'vitest';
import type { PreviewTarget } from './address.ts';
import { headersForProgram, headersFromProgram } from './headers.ts';

const path: PreviewTarget = {
  replicaId: 'r',
  port: 3000,
  form: 'path',
  prefix: '/p/r/3000',
  path: '/',
  token: null,
};
const host: PreviewTarget = { ...path, form: 'host', prefix: '' };

function message(...pairs: [string, string][]) {
  const headers = Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value]));
  return { rawHeaders: pairs.flat(), headers };
}

const grouped = (flat: string[]) =>
  Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index], flat[2 * index + 1]]);

function sent(target: PreviewTarget, pairs: [string, string][], dropsAuthorization = true) {
  const passing = { target, address: '192.0.2.1', scheme: 'https', dropsAuthorization };
  return grouped(headersForProgram(message(...pairs), passing));
}

function received(target: PreviewTarget, pairs: [string, string][], isPublic = true) {
  return grouped(headersFromProgram(message(...pairs), { target, isPublic }));
}

describe('the headers of a request', () => {
  const forwarded = [
    ['x-forwarded-for', '192.0.2.1'],
    ['x-forwarded-host', 'a.example'],
    ['x-forwarded-proto', 'https'],
  ];

  test('say who asks as we know it, whatever the caller says', () => {
    const lies: [string, string][] = [
      ['Host', 'a.example'],
      ['X-Forwarded-For', '10.0.0.1'],
      ['Forwarded', 'for=10.0.0.1'],
      ['X-Real-IP', '10.0.0.1'],
      ['Accept', '*/*'],
    ];
    expect(sent(host, lies)).toEqual([['host', 'localhost:3000'], ['accept', '*/*'], ...forwarded]);
    expect(sent(path, lies)).toContainEqual(['x-forwarded-prefix', '/p/r/3000']);
  });

  test('leave out what is about the connection, and what is for the service', () => {
    const pairs: [string, string][] = [
      ['Host', 'a.example'],
      ['Connection', 'keep-alive, X-Hop'],
      ['X-Hop', '1'],
      ['Keep-Alive', 'timeout=5'],
      ['Upgrade', 'h2c'],
      ['Proxy-Authorization', 'Basic x'],
      ['Expect', '100-continue'],
      ['TE', 'trailers'],
      ['Authorization', 'Bearer key'],
      ['Cookie', 'replica_preview=pass; replica.session_token=s'],
    ];
    expect(sent(path, pairs)).toEqual([
      ['host', 'localhost:3000'],
      ...forwarded,
      ['x-forwarded-prefix', '/p/r/3000'],
    ]);
  });

  test('keep a credential that is for the program', () => {
    const pairs: [string, string][] = [
      ['Host', 'a.example'],
      ['Authorization', 'Basic abc'],
    ];
    expect(sent(host, pairs, false)).toContainEqual(['authorization', 'Basic abc']);
  });

  test('say that a body of unknown length comes in chunks', () => {
    expect(sent(host, [['Transfer-Encoding', 'gzip, chunked']])).toContainEqual([
      'transfer-encoding',
      'chunked',
    ]);
  });
});

describe('the headers of an answer', () => {
  const whole: [string, string][] = [
    ['Content-Type', 'text/html'],
    ['Content-Length', '5'],
    ['Connection', 'close'],
    ['X-Service-Error-Code', 'not_found'],
    ['X-Request-Id', 'mine'],
    ['Clear-Site-Data', '"*"'],
    ['Service-Worker-Allowed', '/'],
    ['Cross-Origin-Resource-Policy', 'same-origin'],
    ['Access-Control-Allow-Origin', 'http://localhost:3000'],
    ['Strict-Transport-Security', 'max-age=1'],
    ['Content-Security-Policy', "default-src 'self'"],
    ['Cache-Control', 'public, max-age=60'],
  ];

  test('say nothing for the whole origin under /p/, where pages are sandboxed', () => {
    expect(received(path, whole)).toEqual([
      ['content-type', 'text/html'],
      ['content-length', '5'],
      ['content-security-policy', "default-src 'self'"],
      ['cache-control', 'public, max-age=60'],
      ['content-security-policy', expect.stringMatching(/^sandbox (?!.*allow-same-origin)/)],
      ['access-control-allow-origin', '*'],
      ['access-control-expose-headers', '*'],
    ]);
  });

  test('let no other page read what not everybody may see', () => {
    const names = received(path, [['Content-Type', 'text/html']], false).map(([name]) => name);
    expect(names).toEqual(['content-type', 'cache-control', 'content-security-policy']);
  });

  test('are those of the program at a host name of its own', () => {
    const names = received(host, whole).map(([name]) => name);
    expect(names).toEqual([
      'content-type',
      'content-length',
      'clear-site-data',
      'service-worker-allowed',
      'cross-origin-resource-policy',
      'access-control-allow-origin',
      'strict-transport-security',
      'content-security-policy',
      'cache-control',
    ]);
  });

  test('let nobody keep what not everybody may see', () => {
    expect(received(host, whole, false)).toContainEqual(['cache-control', 'private, no-cache']);
    expect(received(host, whole, false)).not.toContainEqual(['cache-control', 'public, max-age=60']);
  });

  test('keep cookies to the preview', () => {
    const pairs: [string, string][] = [
      ['Set-Cookie', 'a=1; Domain=example'],
      ['Set-Cookie', 'replica_preview=x'],
    ];
    expect(received(host, pairs)).toEqual([['set-cookie', 'a=1']]);
  });

  test.each([
    ['/login?x=1', '/p/r/3000/login?x=1', '/login?x=1'],
    ['http://localhost:3000/a', '/p/r/3000/a', '/a'],
    ['http://127.0.0.1:3000', '/p/r/3000/', '/'],
    ['http://localhost:3000?a', '/p/r/3000/?a', '/?a'],
    ['http://localhost:30001/a', 'http://localhost:30001/a', 'http://localhost:30001/a'],
    ['//elsewhere.example/', '//elsewhere.example/', '//elsewhere.example/'],
    ['next', 'next', 'next'],
  ])('lead a redirect to %s on', (location, underPath, atHost) => {
    expect(received(path, [['Location', location]])[0]).toEqual(['location', underPath]);
    expect(received(host, [['Location', location]])).toEqual([['location', atHost]]);
  });
});
