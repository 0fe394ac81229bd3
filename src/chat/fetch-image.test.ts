import { expect, test } from 'vitest';
import { mediaTypeOf } from './fetch-image.ts';

test.each([
  ['image/png', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR'],
  ['image/jpeg', '\xff\xd8\xff\xe0\0\x10JFIF'],
  ['image/gif', 'GIF89a\x01\0'],
  ['image/gif', 'GIF87a'],
  ['image/webp', 'RIFF\n\0\0\0WEBPVP8 '],
  [null, 'RIFF\n\0\0\0WAVEfmt '],
  [null, '<svg xmlns="http://www.w3.org/2000/svg"/>'],
  [null, '<html>\x89PNG\r\n\x1a\n'],
  [null, '\x89PNG'],
  [null, 'GIF88a'],
  [null, ''],
])('%s begins like %j', (type, start) => {
  expect(mediaTypeOf(Buffer.from(start, 'latin1'))).toBe(type);
});
