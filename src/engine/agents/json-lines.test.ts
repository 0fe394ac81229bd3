import { expect, test } from 'vitest';
import { readJsonLines } from './json-lines.ts';

async function read(chunks: string[], maxBytes = 100) {
  const dropped: number[] = [];
  async function* stream() {
    for (const chunk of chunks) yield Buffer.from(chunk, 'latin1');
  }
  const messages: object[] = [];
  const lines = readJsonLines(stream(), { maxBytes, dropped: (bytes) => void dropped.push(bytes) });
  for await (const message of lines) messages.push(message);
  return { messages, dropped };
}

const latin1 = (text: string) => Buffer.from(text).toString('latin1');

test.each([
  ['several in one chunk', ['{"a":1}\n{"b":2}\n'], [{ a: 1 }, { b: 2 }]],
  ['one over many chunks', ['{"a"', ':', '1}\n'], [{ a: 1 }]],
  ['a character cut in two', [latin1('{"a":"é').slice(0, -1), latin1('{"a":"é"}\n').slice(7)], [{ a: 'é' }]],
  ['the last one without a line end', ['{"a":1}\n{"b":2}'], [{ a: 1 }, { b: 2 }]],
  ['none in remarks, lists and broken lines', ['hello\n[1]\n{"a":\n\n  {"b":2}\r\n'], [{ b: 2 }]],
  ['nothing', [], []],
])('reads %s', async (_name, chunks, expected) => {
  expect(await read(chunks)).toEqual({ messages: expected, dropped: [] });
});

test('drops a line that is too long and goes on with the next', async () => {
  const long = `{"a":"${'x'.repeat(200)}"}\n`;
  const { messages, dropped } = await read(['{"a":1}\n', long.slice(0, 150), long.slice(150), '{"b":2}\n']);
  expect(messages).toEqual([{ a: 1 }, { b: 2 }]);
  expect(dropped).toEqual([long.length - 1]);
});
