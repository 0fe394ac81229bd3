import { describe, expect, test } from 'vitest';
import { encodeFrame, type SseFrame } from './sse.ts';

describe('encodeFrame', () => {
  test.each<[what: string, frame: SseFrame, text: string]>([
    ['data alone', { data: { a: 1 } }, 'data: {"a":1}\n\n'],
    ['everything', { id: '7', event: 'tick', data: null }, 'id: 7\nevent: tick\ndata: null\n\n'],
    ['a comment', { comment: 'ping' }, ': ping\n\n'],
    ['line breaks in the data', { data: 'a\r\nb' }, 'data: "a\\r\\nb"\n\n'],
    [
      'line breaks elsewhere',
      { id: '1\ndata: x', event: 'a\rb', data: 0 },
      'id: 1 data: x\nevent: a b\ndata: 0\n\n',
    ],
    ['a comment that tries to be more', { comment: 'a\n\ndata: 1' }, ': a  data: 1\n\n'],
  ])('writes %s', (_, frame, text) => {
    expect(encodeFrame(frame)).toBe(text);
  });
});
