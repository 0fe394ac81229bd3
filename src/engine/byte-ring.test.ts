import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createByteRing } from './byte-ring.ts';

test('keeps the last bytes under their offsets, however they come', () => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 16 }), chunks, fc.nat(20), (size, pieces, count) => {
      const ring = createByteRing(size);
      let all = Buffer.alloc(0);
      for (const piece of pieces) {
        ring.append(Buffer.from(piece));
        all = Buffer.concat([all, piece]);
        expect(ring.end()).toBe(all.length);
        expect(ring.start()).toBe(Math.max(0, all.length - size));
        for (let offset = ring.start(); offset <= all.length; offset += 1)
          expect(ring.read(offset, count)).toEqual(all.subarray(offset, offset + count));
      }
    }),
    { numRuns: 100 },
  );
});
