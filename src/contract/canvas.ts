import { z } from 'zod';
import { id } from './common.ts';
import { preferHeader } from './message.ts';
import type { Operation } from './operation.ts';
import { replicaParams } from './replica.ts';

const canvasKind = z.enum(['markdown', 'html', 'image', 'video', 'audio', 'other']);
export type CanvasKind = z.output<typeof canvasKind>;

const canvasItem = z
  .object({
    filename: z.string(),
    kind: canvasKind.describe('By the extension of the name.'),
    sizeBytes: z.int(),
  })
  .meta({ id: 'CanvasItem' });

const canvasContent = canvasItem
  .extend({
    mimeType: z.string(),
    content: z.string().optional().describe('Text of `markdown` and `html`.'),
    base64: z.string().optional().describe('Bytes of every other kind.'),
    tooLarge: z.boolean().optional().describe('True when it is over 5 MB (5,000,000 bytes): it has neither.'),
  })
  .meta({ id: 'CanvasContent' });

const ofCanvas = {
  tag: 'Canvas',
  access: 'member',
  headers: z.object(preferHeader),
  errors: ['invalid_state'],
} as const;

export const canvasOperations = {
  listCanvasItems: {
    ...ofCanvas,
    method: 'GET',
    path: '/v1/replica/{id}/canvas',
    summary: 'List the canvas items of a replica',
    description:
      'Plain files directly in `~/.replica/canvas`, by name. Answered from what is kept outside the sandbox, without waking the replica.',
    params: replicaParams,
    answers: { 200: z.object({ items: z.array(canvasItem) }) },
  },
  getCanvasItem: {
    ...ofCanvas,
    method: 'GET',
    path: '/v1/replica/{id}/canvas/{filename}',
    summary: 'Read a canvas item',
    params: z.object({ id, filename: z.string() }),
    answers: { 200: canvasContent },
  },
} as const satisfies Record<string, Operation>;
