import { describe, expect, test } from 'vitest';
import { flushPacket, writePacket } from './pkt-line.ts';
import { createPushReport } from './push-report.ts';

const report = Buffer.concat([
  writePacket('unpack ok\n'),
  writePacket('ok refs/heads/main\n'),
  writePacket('ng refs/heads/locked protected branch\n'),
  writePacket('ok refs/heads/new'),
  flushPacket,
]);
const taken = ['refs/heads/main', 'refs/heads/new'];

function acceptedIn(bytes: Buffer, hasSideBand: boolean): string[] {
  const heard = createPushReport({ hasSideBand, maxRefs: 100 });
  for (let at = 0; at < bytes.length; at += 7) heard.read(bytes.subarray(at, at + 7));
  return [...heard.accepted()];
}

function band(number: number, bytes: Buffer): Buffer {
  const length = (bytes.length + 5).toString(16).padStart(4, '0');
  return Buffer.concat([Buffer.from(length), Buffer.from([number]), bytes]);
}

describe('createPushReport', () => {
  test('a plain report names what was taken', () => {
    expect(acceptedIn(report, false)).toEqual(taken);
  });

  test('a report within a band is put together, and the words of the remote are no report', () => {
    const bytes = Buffer.concat([
      band(2, writePacket('ok refs/heads/words\n')),
      band(1, report.subarray(0, 30)),
      band(2, Buffer.from('thank you\n')),
      band(1, report.subarray(30)),
      flushPacket,
    ]);
    expect(acceptedIn(bytes, true)).toEqual(taken);
  });

  test('a report that is cut off names what came before', () => {
    expect(acceptedIn(report.subarray(0, 60), false)).toEqual(['refs/heads/main']);
  });
});
