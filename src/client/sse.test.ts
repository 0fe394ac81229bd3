import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readSse, type SseMessage } from './sse.ts';

async function* inChunks(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function read(text: string, size = 7): Promise<SseMessage[]> {
  const messages: SseMessage[] = [];
  for await (const message of readSse(inChunks(text, size))) messages.push(message);
  return messages;
}

describe('readSse', () => {
  const plain = { id: null, event: 'message', data: 'a' };
  test.each<[what: string, text: string, messages: SseMessage[]]>([
    [
      'an event with everything',
      'id: 7\nevent: tick\ndata: {"n":1}\n\n',
      [{ id: '7', event: 'tick', data: '{"n":1}' }],
    ],
    ['data alone', 'data: a\n\n', [plain]],
    ['a field without a space', 'data:a\n\n', [plain]],
    ['lines that end as in HTTP', 'data: a\r\n\r\n', [plain]],
    ['data of several lines', 'data: a\ndata:\ndata: b\n\n', [{ ...plain, data: 'a\n\nb' }]],
    ['comments', ': ping\n\n:\n', [{ comment: 'ping' }, { comment: '' }]],
    ['fields that nobody knows', 'retry: 10\nother\ndata: a\n\n', [plain]],
    ['an event without data', 'event: tick\nid: 7\n\n', []],
    ['an event that is cut off', 'data: a\n\ndata: b\n', [plain]],
    [
      'data with colons and what is beyond ASCII',
      'data: é: 🙂\u2028\n\n',
      [{ ...plain, data: 'é: 🙂\u2028' }],
    ],
  ])('reads %s', async (_, text, messages) => {
    expect(await read(text)).toEqual(messages);
  });

  test('reads the same however the bytes are cut', async () => {
    const event = fc.record({ id: fc.stringMatching(/^\d{1,5}$/), data: fc.json() });
    const property = fc.asyncProperty(
      fc.array(event),
      fc.integer({ min: 1, max: 50 }),
      async (events, size) => {
        const text = events.map(({ id, data }) => `id: ${id}\nevent: e\ndata: ${data}\n\n`).join('');
        expect(await read(text, size)).toEqual(events.map((one) => ({ ...one, event: 'e' })));
      },
    );
    await fc.assert(property, { numRuns: 50 });
  });
});
