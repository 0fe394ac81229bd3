import { z } from 'zod';
import { text } from './common.ts';

/** What a message to an agent is made of, at the creation of a replica and later. */

export const codingAgent = z.enum(['claude', 'codex', 'cursor', 'opencode']);
export type CodingAgent = z.output<typeof codingAgent>;

/** Ten of the largest images fit, as base64. */
export const MESSAGE_BODY_LIMIT = 20_000_000;

export const imageContent = z
  .object({
    type: z.literal('image'),
    source: z.discriminatedUnion('type', [
      z.object({
        type: z.literal('base64'),
        media_type: z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp']),
        data: z.base64().min(1),
      }),
      z.object({ type: z.literal('url'), url: text(2_048).pipe(z.url({ protocol: /^https?$/ })) }),
    ]),
  })
  .meta({ id: 'ImageContent' });

export const messageText = text(1_000_000).refine((value) => value.trim() !== '', {
  error: 'must not be empty',
});

/** How the agent shall work on one message. */
export const messageOptions = {
  model: text(200).optional().describe("The agent's own default when absent."),
  images: z.array(imageContent).max(20).optional(),
  plan_mode: z.boolean().optional().describe('Plan only; a leading `/plan` does the same.'),
  goal_mode: z.boolean().optional().describe('The message becomes the goal (codex only); so does `/goal`.'),
  fast_mode: z.boolean().optional().describe('A leading `/fast` does the same.'),
  thinking_level: z.enum(['low', 'medium', 'high', 'max']).optional(),
};

/** `Prefer: handling=strict` (RFC 7240) asks for a refusal where the service would otherwise wake a replica. */
export const preferHeader = {
  prefer: z
    .string()
    .max(500)
    .optional()
    .describe('`handling=strict` refuses with 409 what would otherwise be served from a sleeping replica.'),
};

export function isStrict(prefer: string | undefined): boolean {
  return /(^|[,;\s])handling\s*=\s*"?strict"?\s*($|[,;\s])/i.test(prefer ?? '');
}
