import type { z } from 'zod';
import type { CanvasKind, canvasOperations } from '../contract/canvas.ts';
import { engineLimits } from '../engine/limits.ts';
import { kindOf } from './kind.ts';

type Listed = z.input<(typeof canvasOperations)['listCanvasItems']['answers'][200]>['items'][number];
type Read = z.input<(typeof canvasOperations)['getCanvasItem']['answers'][200]>;
type Item = { filename: string; size_bytes: number };

export function presentItem({ filename, size_bytes: sizeBytes }: Item): Listed {
  return { filename, kind: kindOf(filename).kind, sizeBytes };
}

/** An item with what is in it, unless it is too large to be sent. */
export function presentContent(item: Item & { content: Buffer | null }): Read {
  const { kind, mimeType } = kindOf(item.filename);
  const { content } = item;
  const isTooLarge = content === null || content.length > engineLimits.canvasItemBytes;
  return {
    ...presentItem(item),
    mimeType,
    ...(isTooLarge ? { tooLarge: true } : payloadOf(kind, content)),
  };
}

function payloadOf(kind: CanvasKind, content: Buffer): { content: string } | { base64: string } {
  const isText = kind === 'markdown' || kind === 'html';
  return isText ? { content: content.toString('utf8') } : { base64: content.toString('base64') };
}
