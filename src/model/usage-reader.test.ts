import { describe, expect, test } from 'vitest';
import { createUsageReader } from './usage-reader.ts';

const usage = { input_tokens: 3, output_tokens: 4 };
const event = (data: object) => `event: x\ndata: ${JSON.stringify(data)}\n\n`;
const start = event({ type: 'message_start', message: { model: 'claude-x', usage } });
const end = event({ type: 'message_delta', usage: { output_tokens: 40 } });

function readStream(pieces: Iterable<string | Buffer>) {
  const reader = createUsageReader({ isStream: true });
  for (const piece of pieces) reader.read(Buffer.from(piece));
  return reader.end();
}

describe('a reader of a stream', () => {
  const text = event({ type: 'content_block_delta', delta: { text: 'grün 🐸 "usage"' } });
  const whole = Buffer.from(`${start}${text}: ping\n\n${end}`);
  const found = { model: 'claude-x', isCounted: true, inputTokens: 3, outputTokens: 40 };

  test.each([1, 2, 3, 7, 64, 100_000])('finds the same however it is cut, as into %i bytes', (size) => {
    const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, n) =>
      whole.subarray(n * size, (n + 1) * size),
    );
    expect(readStream(pieces)).toMatchObject(found);
  });

  test('knows line ends with a carriage return, and an end without one', () => {
    expect(readStream([`${start}${end}`.replaceAll('\n', '\r\n').trimEnd()])).toMatchObject(found);
  });

  test('has what was said so far when the stream breaks off', () => {
    expect(readStream([start, text, end.slice(0, -20)])).toMatchObject({ ...found, outputTokens: 4 });
    const begun = event({ model: 'm', choices: [{ delta: { content: 'a' } }] });
    expect(readStream([begun])).toMatchObject({ model: 'm', isCounted: false });
  });

  test('passes over garbage, and over what is too long to be looked at', () => {
    const long = `data: {"usage":{"output_tokens":7},"x":"${'y'.repeat(4_100_000)}"}\n`;
    const pieces = [start, 'data: {"usage": nonsense\n', '\0\xff\n', 'data\n', 'data:\n', long, end];
    expect(readStream(pieces)).toMatchObject(found);
    expect(readStream([start, long])).toMatchObject({ ...found, outputTokens: 4 });
  });

  test('takes a long line in small pieces without looking at all of it again', () => {
    const reader = createUsageReader({ isStream: true });
    const began = performance.now();
    for (let n = 0; n < 100_000; n += 1) reader.read(Buffer.from('x'.repeat(100)));
    // Looking at the line anew with every piece would take minutes.
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(reader.end().isCounted).toBe(false);
  });
});

describe('a reader of an answer in one piece', () => {
  function readWhole(pieces: readonly string[]) {
    const reader = createUsageReader({ isStream: false });
    for (const piece of pieces) reader.read(Buffer.from(piece));
    return reader.end();
  }

  test('finds it when everything is there', () => {
    const pieces = ['{"model":"gpt-5",\n"usage":{"input_tokens":3,', '"output_tokens":4,"total_tokens":7}}'];
    expect(readWhole(pieces)).toMatchObject({ model: 'gpt-5', isCounted: true, inputTokens: 3 });
  });

  test('finds nothing in half an answer, in no JSON, and in what is too long', () => {
    const body = JSON.stringify({ model: 'm', usage });
    const long = JSON.stringify({ model: 'm', usage, x: 'y'.repeat(4_100_000) });
    for (const text of [body.slice(0, -1), 'Bad Gateway', '', long])
      expect(readWhole([text])).toMatchObject({ model: 'unknown', isCounted: false });
  });
});
