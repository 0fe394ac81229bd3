import path from 'node:path';
import type { CanvasKind } from '../contract/canvas.ts';

type Described = { kind: CanvasKind; mimeType: string };

const byExtension = new Map<string, Described>([
  ['.md', { kind: 'markdown', mimeType: 'text/markdown' }],
  ['.markdown', { kind: 'markdown', mimeType: 'text/markdown' }],
  ['.html', { kind: 'html', mimeType: 'text/html' }],
  ['.htm', { kind: 'html', mimeType: 'text/html' }],
  ['.png', { kind: 'image', mimeType: 'image/png' }],
  ['.jpg', { kind: 'image', mimeType: 'image/jpeg' }],
  ['.jpeg', { kind: 'image', mimeType: 'image/jpeg' }],
  ['.gif', { kind: 'image', mimeType: 'image/gif' }],
  ['.webp', { kind: 'image', mimeType: 'image/webp' }],
  ['.svg', { kind: 'image', mimeType: 'image/svg+xml' }],
  ['.mp4', { kind: 'video', mimeType: 'video/mp4' }],
  ['.webm', { kind: 'video', mimeType: 'video/webm' }],
  ['.mov', { kind: 'video', mimeType: 'video/quicktime' }],
  ['.mp3', { kind: 'audio', mimeType: 'audio/mpeg' }],
  ['.wav', { kind: 'audio', mimeType: 'audio/wav' }],
  ['.ogg', { kind: 'audio', mimeType: 'audio/ogg' }],
  ['.m4a', { kind: 'audio', mimeType: 'audio/mp4' }],
  ['.txt', { kind: 'other', mimeType: 'text/plain' }],
  ['.csv', { kind: 'other', mimeType: 'text/csv' }],
  ['.json', { kind: 'other', mimeType: 'application/json' }],
  ['.pdf', { kind: 'other', mimeType: 'application/pdf' }],
]);

/** What a canvas item is, by the extension of its name. */
export function kindOf(filename: string): Described {
  const extension = path.posix.extname(filename).toLowerCase();
  return byExtension.get(extension) ?? { kind: 'other', mimeType: 'application/octet-stream' };
}
