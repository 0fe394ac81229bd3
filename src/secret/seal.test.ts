import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseKeyRing } from './key-ring.ts';
import { createSealer, SealError, sealedPrefix } from './seal.ts';
import { SEALED_COLUMNS, sealedContext } from './sealed-columns.ts';

const oldKey = randomBytes(32).toString('hex');
const newKey = randomBytes(32).toString('hex');
const oldSealer = createSealer(parseKeyRing(oldKey));
const newSealer = createSealer(parseKeyRing(`${newKey},${oldKey}`));
const context = sealedContext('environment_variable', 'value', '0190c2a4-0000-7000-8000-000000000001');

function errorOf(run: () => unknown): SealError {
  try {
    run();
  } catch (error) {
    if (error instanceof SealError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('createSealer', () => {
  test('opens what it sealed, text and bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.uint8Array(), fc.string(), (text, bytes, place) => {
        expect(newSealer.open(newSealer.seal(text, place), place)).toBe(text);
        const sealed = newSealer.seal(Buffer.from(bytes), place);
        expect(newSealer.openBytes(sealed, place)).toEqual(Buffer.from(bytes));
      }),
    );
  });

  test('keeps a byte order mark and an empty text', () => {
    for (const text of ['\ufefftext', ''])
      expect(newSealer.open(newSealer.seal(text, context), context)).toBe(text);
  });

  test('a sealed value costs 53 bytes, names its key and shows nothing of the text', () => {
    const sealed = newSealer.seal('a secret', context);
    expect(sealed).toHaveLength(8 + 53);
    expect(newSealer.keyIdOf(sealed)).toBe(newSealer.currentKeyId);
    expect(sealed.subarray(0, 9)).toEqual(sealedPrefix(newSealer.currentKeyId));
    expect(sealed.includes('secret')).toBe(false);
  });

  test('the same text sealed twice shares nothing but the prefix', () => {
    const first = newSealer.seal('same', context);
    const second = newSealer.seal('same', context);
    expect(first.subarray(9, 25)).not.toEqual(second.subarray(9, 25));
    expect(first.subarray(25, 37)).not.toEqual(second.subarray(25, 37));
    expect(first.subarray(37)).not.toEqual(second.subarray(37));
  });

  test.each([
    ['another row', sealedContext('environment_variable', 'value', '0190c2a4-0000-7000-8000-000000000002')],
    ['another column', context.replace('.value', '.key')],
    ['another table', context.replace('environment_variable', 'environment_file')],
    ['no place', ''],
  ])('a value moved to %s does not open', (_, elsewhere) => {
    const error = errorOf(() => newSealer.open(newSealer.seal('text', context), elsewhere));
    expect(error.reason).toBe('damaged');
  });

  test('a value with any bit changed does not open', () => {
    const sealed = newSealer.seal('a secret', context);
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(() => newSealer.open(changed, context)).toThrow(SealError);
    }
  });

  test('any other bytes are refused as SealError', () => {
    const sealed = newSealer.seal('a secret', context);
    for (let length = 0; length < sealed.length; length += 1) {
      expect(errorOf(() => newSealer.open(sealed.subarray(0, length), context)).reason).toBe('damaged');
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
        expect(() => newSealer.open(Buffer.from(bytes), context)).toThrow(SealError);
        const forged = Buffer.concat([sealedPrefix(newSealer.currentKeyId), bytes]);
        expect(() => newSealer.open(forged, context)).toThrow(SealError);
      }),
    );
  });

  test('an old key of the ring opens, the current one seals', () => {
    const sealed = oldSealer.seal('from before', context);
    expect(newSealer.open(sealed, context)).toBe('from before');
    expect(newSealer.keyIdOf(sealed)).toBe(oldSealer.currentKeyId);
    expect(newSealer.keyIdOf(newSealer.seal('x', context))).not.toBe(oldSealer.currentKeyId);
  });

  test('a key that is not in the ring is named, with what to do', () => {
    const error = errorOf(() => oldSealer.open(newSealer.seal('text', context), context));
    expect(error.reason).toBe('unknown_key');
    expect(error.message).toContain(
      `sealed with key ${newSealer.currentKeyId}, which is not in the ring: put that key`,
    );
    expect(error.message).toContain(context);
  });

  test('a key added elsewhere is found by reading the ring again, and seals from then on', () => {
    let reloads = 0;
    const sealer = createSealer(parseKeyRing(oldKey), {
      reload: () => {
        reloads += 1;
        return parseKeyRing(`${newKey},${oldKey}`);
      },
    });
    const fromBefore = sealer.seal('from before', context);
    expect(sealer.open(newSealer.seal('text', context), context)).toBe('text');
    expect(sealer.currentKeyId).toBe(newSealer.currentKeyId);
    expect(sealer.open(fromBefore, context)).toBe('from before');
    expect(reloads).toBe(1);
  });

  test('a ring that cannot be read again leaves the old one and is the cause of the error', () => {
    const fault = new Error('gone');
    const sealer = createSealer(parseKeyRing(oldKey), {
      reload: () => {
        throw fault;
      },
    });
    expect(errorOf(() => sealer.open(newSealer.seal('text', context), context)).cause).toBe(fault);
    expect(sealer.open(oldSealer.seal('text', context), context)).toBe('text');
  });

  test('text that would not come back unchanged is not sealed, and bytes are not read as text', () => {
    expect(errorOf(() => newSealer.seal('\ud800', context)).reason).toBe('not_text');
    const bytes = newSealer.seal(Buffer.of(0xff, 0xfe), context);
    expect(errorOf(() => newSealer.open(bytes, context)).reason).toBe('not_text');
  });

  test('a printed sealer shows no key', () => {
    expect(inspect(newSealer, { depth: null, showHidden: true })).not.toContain(newKey.slice(0, 8));
  });
});

describe('SEALED_COLUMNS', () => {
  test('names each column once, with the context that sealing code uses', () => {
    const contexts = SEALED_COLUMNS.map((column) => column.context('1'));
    expect(new Set(contexts).size).toBe(SEALED_COLUMNS.length);
    for (const column of SEALED_COLUMNS) {
      expect(column.context('1')).toBe(sealedContext(column.table, column.column, '1'));
    }
    expect(contexts).toContain('environment_variable.value:1');
  });
});
