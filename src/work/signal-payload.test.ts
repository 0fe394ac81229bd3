import { describe, expect, test } from 'vitest';
import { MAX_PAYLOAD_BYTES, packTopics, parseHint } from './signal-payload.ts';

const topicsOf = (payloads: string[]) => payloads.flatMap((payload) => parseHint(payload)?.topics ?? []);

describe('packTopics', () => {
  test('puts what fits into one payload', () => {
    expect(packTopics('me', ['a', 'b'])).toEqual(['{"from":"me","topics":["a","b"]}']);
    expect(packTopics('me', [])).toEqual([]);
  });

  test.each([
    ['short topics', Array.from({ length: 5_000 }, (_, n) => `replica:${n}`)],
    ['topics beyond ASCII', Array.from({ length: 2_000 }, (_, n) => `é€🙂"\\${n}`)],
    [
      'topics that barely fit',
      Array.from({ length: 3 }, (_, n) => `${n}`.padEnd(MAX_PAYLOAD_BYTES - 30, 'x')),
    ],
  ])('splits %s into payloads below the bound, each topic once', (_, topics) => {
    const payloads = packTopics('me', topics);
    expect(topicsOf(payloads)).toEqual(topics);
    for (const payload of payloads) expect(Buffer.byteLength(payload)).toBeLessThanOrEqual(MAX_PAYLOAD_BYTES);
  });

  test('tells to look at everything when one topic fits nowhere', () => {
    expect(topicsOf(packTopics('me', ['a', 'x'.repeat(MAX_PAYLOAD_BYTES), 'b']))).toEqual(['*']);
  });
});

describe('parseHint', () => {
  test.each(['', 'words', 'null', '[]', '{}', '{"from":1,"topics":[]}', '{"from":"a","topics":"b"}'])(
    'passes over %j',
    (payload) => {
      expect(parseHint(payload)).toBeNull();
    },
  );
});
