import { describe, expect, test } from 'vitest';
import { createPacketReader, flushPacket, writePacket } from './pkt-line.ts';

function read(...chunks: Buffer[]): (string | null)[] {
  const packets: (string | null)[] = [];
  const reader = createPacketReader((packet) => packets.push(packet?.toString() ?? null));
  for (const chunk of chunks) reader(chunk);
  return packets;
}

describe('createPacketReader', () => {
  const whole = Buffer.concat([writePacket('one\n'), writePacket(''), flushPacket, writePacket('zwei ü')]);
  const expected = ['one\n', '', null, 'zwei ü'];

  test('lines come out as they went in', () => {
    expect(read(whole)).toEqual(expected);
  });

  test('lines may be cut anywhere', () => {
    expect(read(...[...whole].map((byte) => Buffer.from([byte])))).toEqual(expected);
    for (let at = 0; at <= whole.length; at += 1) {
      expect(read(whole.subarray(0, at), whole.subarray(at))).toEqual(expected);
    }
  });

  test.each(['0003', 'zzzz', '-001', '0x10', 'PACK'])('nothing is read after %s', (garbage) => {
    expect(read(writePacket('a'), Buffer.from(garbage), writePacket('b'))).toEqual(['a']);
  });

  test('the markers of the second protocol end a list too', () => {
    expect(read(Buffer.from('000100020000'))).toEqual([null, null, null]);
  });
});
