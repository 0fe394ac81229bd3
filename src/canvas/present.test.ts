import { expect, test } from 'vitest';
import { engineLimits } from '../engine/limits.ts';
import { presentContent } from './present.ts';

const read = (filename: string, content: Buffer | null, size = content?.length ?? 9_000_000) =>
  presentContent({ filename, size_bytes: size, content });

test('text kinds are sent as text, whatever their bytes are', () => {
  expect(read('a.md', Buffer.from('# Größe 🙂'))).toEqual({
    filename: 'a.md',
    kind: 'markdown',
    sizeBytes: 14,
    mimeType: 'text/markdown',
    content: '# Größe 🙂',
  });
  expect(read('a.html', Buffer.from([0x61, 0xff, 0x00])).content).toBe('a\uFFFD\0');
  expect(read('empty.md', Buffer.alloc(0)).content).toBe('');
});

test('other kinds are sent as base64', () => {
  expect(read('a.png', Buffer.from([0xff, 0x00]))).toEqual({
    filename: 'a.png',
    kind: 'image',
    sizeBytes: 2,
    mimeType: 'image/png',
    base64: '/wA=',
  });
  expect(read('a.txt', Buffer.from('plain'))).toMatchObject({ kind: 'other', base64: 'cGxhaW4=' });
});

test.each(['a.md', 'a.png'])('%s has neither when it is too large', (filename) => {
  const limit = engineLimits.canvasItemBytes;
  expect(read(filename, Buffer.alloc(limit)).tooLarge).toBeUndefined();
  for (const item of [read(filename, null), read(filename, Buffer.alloc(limit + 1))]) {
    expect(item.tooLarge).toBe(true);
    expect(item).not.toHaveProperty('content');
    expect(item).not.toHaveProperty('base64');
  }
  expect(read(filename, null).sizeBytes).toBe(9_000_000);
});
