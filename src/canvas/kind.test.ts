import { expect, test } from 'vitest';
import { kindOf } from './kind.ts';

test.each([
  ['notes.md', 'markdown', 'text/markdown'],
  ['notes.markdown', 'markdown', 'text/markdown'],
  ['NOTES.MD', 'markdown', 'text/markdown'],
  ['page.html', 'html', 'text/html'],
  ['page.htm', 'html', 'text/html'],
  ['a.png', 'image', 'image/png'],
  ['a.jpg', 'image', 'image/jpeg'],
  ['a.jpeg', 'image', 'image/jpeg'],
  ['a.gif', 'image', 'image/gif'],
  ['a.webp', 'image', 'image/webp'],
  ['a.svg', 'image', 'image/svg+xml'],
  ['a.mp4', 'video', 'video/mp4'],
  ['a.webm', 'video', 'video/webm'],
  ['a.mov', 'video', 'video/quicktime'],
  ['a.mp3', 'audio', 'audio/mpeg'],
  ['a.wav', 'audio', 'audio/wav'],
  ['a.ogg', 'audio', 'audio/ogg'],
  ['a.m4a', 'audio', 'audio/mp4'],
  ['a.json', 'other', 'application/json'],
  ['a.pdf', 'other', 'application/pdf'],
  ['a.tar.gz', 'other', 'application/octet-stream'],
  ['a.png.exe', 'other', 'application/octet-stream'],
  ['a.exe.png', 'image', 'image/png'],
  ['README', 'other', 'application/octet-stream'],
  ['.md', 'other', 'application/octet-stream'],
  ['md', 'other', 'application/octet-stream'],
  ['a.', 'other', 'application/octet-stream'],
  ['a.constructor', 'other', 'application/octet-stream'],
  ['日本語 🙂.md', 'markdown', 'text/markdown'],
  ['a.md ', 'other', 'application/octet-stream'],
])('%j is of the kind %s', (filename, kind, mimeType) => {
  expect(kindOf(filename)).toEqual({ kind, mimeType });
});
