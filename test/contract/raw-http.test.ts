import { randomUUID } from 'node:crypto';
import { maxHeaderSize } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errorBody, errorCodeHeader } from '../../src/contract/error.ts';
import type { OperationName } from '../../src/contract/operations.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';
import { operationNames, operationOf, pathOf } from './call.ts';
import { isIdSchema, parametersOf } from './published.ts';
import { announce, exchange, openSocket, parseAnswers, type RawAnswer, readAll } from './raw-http.ts';

let world: World;
let org: Organization;
beforeAll(async () => {
  world = await startWorld();
  org = await world.org();
});
afterAll(() => world?.close());

const head = (line: string, headers: string[] = []) =>
  [
    line,
    'Host: service.example',
    `Authorization: Bearer ${org.key}`,
    'Connection: close',
    ...headers,
    '',
    '',
  ].join('\r\n');
const send = (line: string, headers: string[] = [], body = '') =>
  exchange(world.url, head(line, headers) + body);
const json = 'Content-Type: application/json';

describe('what is hardly HTTP', () => {
  const cases: [what: string, bytes: () => string, outcome: string][] = [
    ['words', () => 'hello, is anybody there?\r\n\r\n', '400 invalid_request'],
    [
      'bytes of another protocol',
      () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
      '400 invalid_request',
    ],
    ['no Host', () => 'GET /v1/environments HTTP/1.1\r\nConnection: close\r\n\r\n', '400 invalid_request'],
    ['another version of HTTP', () => 'GET / HTTP/7.0\r\nHost: a\r\n\r\n', '400 invalid_request'],
    ['a method nobody knows', () => head('BREW /v1/environments HTTP/1.1'), '400 invalid_request'],
    ['a header without a colon', () => head('GET /v1/me HTTP/1.1', ['no colon here']), '400 invalid_request'],
    ['a NUL in the path', () => head('GET /v1/\0 HTTP/1.1'), '400 invalid_request'],
    ['a NUL in a header', () => head('GET /v1/me HTTP/1.1', ['X-A: a\0b']), '400 invalid_request'],
    [
      'a negative length',
      () => head('POST /v1/environments HTTP/1.1', [json, 'Content-Length: -1']),
      '400 invalid_request',
    ],
    [
      'two lengths',
      () => head('POST /v1/environments HTTP/1.1', [json, 'Content-Length: 2', 'Content-Length: 3']),
      '400 invalid_request',
    ],
    [
      'a length and chunks',
      () => head('POST /v1/environments HTTP/1.1', [json, 'Content-Length: 2', 'Transfer-Encoding: chunked']),
      '400 invalid_request',
    ],
    [
      'chunks that are none',
      () => `${head('POST /v1/environments HTTP/1.1', [json, 'Transfer-Encoding: chunked'])}zz\r\n{}\r\n`,
      '400 invalid_request',
    ],
    [
      'headers beyond all bounds',
      () => head('GET /v1/me HTTP/1.1', [`X-Filler: ${'a'.repeat(maxHeaderSize)}`]),
      '431 headers_too_large',
    ],
    [
      'a path beyond all bounds',
      () => head(`GET /v1/${'a'.repeat(maxHeaderSize)} HTTP/1.1`),
      '431 headers_too_large',
    ],
    ['broken percent-encoding', () => head('GET /v1/environments/%zz HTTP/1.1'), '400 invalid_request'],
    ['percent-encoded broken UTF-8', () => head('GET /v1/environments/%ff HTTP/1.1'), '400 invalid_request'],
    ['a percent sign alone', () => head('GET /v1/% HTTP/1.1'), '400 invalid_request'],
    ['two slashes', () => head('GET //v1//environments HTTP/1.1'), '404 not_found'],
    ['nothing but slashes', () => head(`GET ${'/'.repeat(100)} HTTP/1.1`), '404 not_found'],
    ['a long path', () => head(`GET /v1/environments/${'a'.repeat(10_000)} HTTP/1.1`), '404 not_found'],
    ['a deep path', () => head(`GET /v1${'/a'.repeat(5_000)} HTTP/1.1`), '404 not_found'],
    ['dots in the path', () => head('GET /v1/environments/../../etc/passwd HTTP/1.1'), '404 not_found'],
    ['another scheme in the path', () => head('GET file:///etc/passwd HTTP/1.1'), '404 not_found'],
    ['an empty id', () => head('GET /v1/repositories//check HTTP/1.1'), '404 not_found'],
    ['OPTIONS', () => head('OPTIONS /v1/environments HTTP/1.1'), '404 not_found'],
    ['OPTIONS of everything', () => head('OPTIONS * HTTP/1.1'), '404 not_found'],
    ['TRACE', () => head('TRACE /v1/environments HTTP/1.1'), '404 not_found'],
    ['a method the path does not have', () => head('PUT /v1/environments HTTP/1.1', [json]), '404 not_found'],
  ];

  test.each(cases)('%s is refused with an error body', async (_what, bytes, expected) => {
    const [answer, ...more] = await exchange(world.url, Buffer.from(bytes(), 'latin1'));
    expect(more).toEqual([]);
    expect(outcomeOf(answer)).toBe(expected);
    expect(errorBody.strict().parse(JSON.parse(answer?.body ?? '')).error).toMatch(/\.$/);
  });

  test('a tunnel is not opened', async () => {
    const answers = await exchange(
      world.url,
      'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n',
    );
    expect(answers.filter(({ status }) => status < 400)).toEqual([]);
  });

  test('HEAD is GET without the body', async () => {
    const [answer] = await send('HEAD /v1/environments HTTP/1.1');
    expect(answer).toMatchObject({ status: 200, body: '' });
    const [refused] = await exchange(
      world.url,
      'HEAD /v1/me HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    );
    expect(refused).toMatchObject({ status: 401, body: '' });
    expect(refused?.headers[errorCodeHeader]).toBe('unauthenticated');
  });

  test('a body that never comes whole is given up with its connection', async () => {
    const socket = await openSocket(world.url);
    socket.write(head('POST /v1/environments HTTP/1.1', [json, 'Content-Length: 100']));
    socket.write('{"name": "cut off"');
    socket.end();
    const answers = parseAnswers(await readAll(socket));
    expect(answers.filter(({ status }) => status < 400 || status >= 500)).toEqual([]);
    const { body } = await org.call('GET', '/v1/environments');
    expect(JSON.stringify(body)).not.toContain('cut off');
  });
});

const bodied = operationNames.filter((name) => operationOf(name).body);

describe('a body without a content type', () => {
  test.each(bodied)('is refused by %s', async (name) => {
    const [answer] = await send(requestLine(name), ['Content-Length: 2'], '{}');
    expect(outcomeOf(answer)).toBe(isForPeople(name) ? '401 unauthenticated' : '415 unsupported_media_type');
  });
});

describe('a body of 10 MB more than an operation takes', () => {
  const size = 10_000_000;

  test.each(bodied)('is refused by %s before it is sent', async (name) => {
    const bytes = size + (operationOf(name).bodyLimit ?? 0);
    const answer = await announce(world.url, { line: requestLine(name), key: org.key, bytes });
    expect(outcomeOf(answer)).toBe(isForPeople(name) ? '401 unauthenticated' : '413 payload_too_large');
  });

  test('is not taken in when its length is not said', async () => {
    const socket = await openSocket(world.url);
    const received = readAll(socket);
    socket.write(head('POST /v1/environments HTTP/1.1', [json, 'Transfer-Encoding: chunked']));
    const chunk = Buffer.alloc(65_536, ' ');
    let sent = 0;
    while (sent < size && socket.writable) {
      const { promise: written, resolve } = Promise.withResolvers<void>();
      socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`, () => resolve());
      await written;
      sent += chunk.length;
    }
    const [answer] = parseAnswers(await received);
    expect(outcomeOf(answer)).toBe('413 payload_too_large');
    expect(sent).toBeLessThan(size);
  });
});

test('after all of this the service answers as before', async () => {
  expect(await world.call('GET', '/healthz')).toMatchObject({ status: 200 });
  expect(await org.call('GET', '/v1/environments')).toMatchObject({ status: 200 });
});

/** An API key is turned away before the body is looked at where only people may come in. */
function isForPeople(name: OperationName): boolean {
  return operationOf(name).access.endsWith('person');
}

function requestLine(name: OperationName): string {
  const params = parametersOf(name, 'path').map((param) => [
    param.name,
    isIdSchema(param.schema) ? randomUUID() : 'claude',
  ]);
  const operation = operationOf(name);
  return `${operation.method} ${pathOf(operation, { params: Object.fromEntries(params) })} HTTP/1.1`;
}

function outcomeOf(answer: RawAnswer | undefined): string {
  return `${answer?.status} ${answer?.headers[errorCodeHeader]}`;
}
