import { z } from 'zod';
import { id, success, text, textOfBytes, time } from './common.ts';
import type { Operation } from './operation.ts';
import { replicaParams } from './replica.ts';

/** What one input carries at most. */
const INPUT_BYTES = 60_000;

const extent = z.int().min(1).max(1_000);
const terminal = z
  .object({
    id,
    cols: z.int(),
    rows: z.int(),
    created_at: time,
    exit_code: z.int().nullable().describe('Null while its program runs.'),
  })
  .meta({ id: 'Terminal' });

const offset = z
  .int()
  .describe(
    'Bytes that the program has written up to here; the id of the event, with which a stream goes on.',
  );
const terminalEvent = z
  .union([
    z
      .object({ data: z.string().describe('UTF-8; what is none is replaced.'), offset })
      .describe('Of `output`.'),
    z.object({ data_base64: z.string(), offset }).describe('Of `output`, when the encoding is base64.'),
    z.object({ skipped_bytes: z.int(), offset }).describe('Of `gap`: what is no longer kept.'),
    z
      .object({ exit_code: z.int().nullable().describe('Null when the terminal was removed.') })
      .describe('Of `exit`, the last event.'),
  ])
  .meta({ id: 'TerminalEvent' });

const terminalParams = z.object({ id, terminalId: id });
const wholeOffset = z.string().regex(/^\d{1,15}$/, 'must be a whole number from 0 on');

const ofTerminals = { tag: 'Terminals', access: 'member', errors: ['invalid_state'] } as const;

export const terminalOperations = {
  listTerminals: {
    ...ofTerminals,
    method: 'GET',
    path: '/v1/workspaces/{id}/terminals',
    summary: 'List the terminals of a replica',
    description:
      'Terminals live in an active replica and end when it sleeps. Ended ones are kept for a while.',
    params: replicaParams,
    answers: { 200: z.object({ terminals: z.array(terminal) }) },
  },
  createTerminal: {
    ...ofTerminals,
    method: 'POST',
    path: '/v1/workspaces/{id}/terminals',
    summary: 'Open a terminal in a replica',
    description: 'A login shell, or one command, in a real terminal. At most 8 for a replica.',
    params: replicaParams,
    body: z.object({
      cols: extent.default(80),
      rows: extent.default(24),
      command: text(10_000).optional().describe('What a shell shall run; an interactive shell when absent.'),
    }),
    answers: { 201: z.object({ terminal }) },
    errors: ['invalid_state', 'limit_reached'],
  },
  sendTerminalInput: {
    ...ofTerminals,
    method: 'POST',
    path: '/v1/workspaces/{id}/terminals/{terminalId}/input',
    summary: 'Type into a terminal',
    description: 'Either `data` or `data_base64`. Refused when the program has ended or does not read.',
    params: terminalParams,
    body: z
      .object({
        data: textOfBytes(INPUT_BYTES).optional().describe('Text; `\\u0003` is ctrl-C.'),
        data_base64: z
          .base64()
          .max((INPUT_BYTES / 3) * 4)
          .optional()
          .describe('Any bytes.'),
      })
      .refine(({ data, data_base64 }) => (data === undefined) !== (data_base64 === undefined), {
        error: 'must have either data or data_base64',
      }),
    answers: { 200: success },
  },
  resizeTerminal: {
    ...ofTerminals,
    method: 'POST',
    path: '/v1/workspaces/{id}/terminals/{terminalId}/resize',
    summary: 'Change the size of a terminal',
    params: terminalParams,
    body: z.object({ cols: extent, rows: extent }),
    answers: { 200: success },
  },
  streamTerminal: {
    ...ofTerminals,
    method: 'GET',
    path: '/v1/workspaces/{id}/terminals/{terminalId}/stream',
    summary: 'Follow what a terminal shows',
    description: [
      'Server-sent events: `output` with what the program writes, `exit` with how it ended. The stream begins at `offset`,',
      'or after the event `Last-Event-ID`; the header counts when both are there. The last 256 KiB are kept; a `gap` says',
      'how much of what was asked for is gone.',
    ].join(' '),
    params: terminalParams,
    query: z.object({
      offset: wholeOffset.optional().describe('Where to begin, in bytes; 0 when absent.'),
      encoding: z.enum(['utf8', 'base64']).optional().describe('Of the output; UTF-8 when absent.'),
    }),
    headers: z.object({ 'last-event-id': wholeOffset.optional().describe('Goes on after this event.') }),
    content: 'text/event-stream',
    answers: { 200: terminalEvent },
  },
  deleteTerminal: {
    ...ofTerminals,
    method: 'DELETE',
    path: '/v1/workspaces/{id}/terminals/{terminalId}',
    summary: 'Close a terminal',
    description: 'Everything that runs in it is ended.',
    params: terminalParams,
    answers: { 200: success },
  },
} as const satisfies Record<string, Operation>;
