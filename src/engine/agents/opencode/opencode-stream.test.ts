import { describe, expect, test } from 'vitest';
import { readOpencodeStream } from './opencode-stream.ts';

async function read(chunks: string[], maxCharacters = 1_000) {
  const dropped: number[] = [];
  const events: unknown[] = [];
  const stream = (async function* () {
    yield* chunks;
  })();
  for await (const event of readOpencodeStream(stream, {
    maxCharacters,
    dropped: (size) => dropped.push(size),
  }))
    events.push(event);
  return { events, dropped };
}

describe('the stream of opencode', () => {
  test.each([
    ['in one piece', ['data: {"a":1}\n\ndata: {"b":"ü"}\n\n']],
    ['in pieces', ['da', 'ta: {"a"', ':1}', '\n', '\nda', 'ta: {"b":"ü"}\n', '\n']],
  ])('is read %s', async (_name, chunks) => {
    expect(await read(chunks)).toEqual({ events: [{ a: 1 }, { b: 'ü' }], dropped: [] });
  });

  test.each([
    ['a comment', ': ping\n'],
    ['another field', 'event: message\n'],
    ['no JSON', 'data: {"a"\n'],
    ['no object', 'data: 7\ndata: null\n'],
    ['a line without an end', 'data: {"a":1}'],
  ])('has no event in %s', async (_name, chunk) => {
    expect(await read([chunk])).toEqual({ events: [], dropped: [] });
  });

  test('loses only the lines that are too long', async () => {
    const long = 'x'.repeat(60);
    const chunks = [`data: "${long}`, long, `${long}"\ndata: {"a":1}\n`, `data: {"b":2}\n`];
    expect(await read(chunks, 100)).toEqual({
      events: [{ a: 1 }, { b: 2 }],
      dropped: [3 * 60 + 'data: ""'.length],
    });
  });
});
