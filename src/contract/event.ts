import { z } from 'zod';
import { id, time } from './common.ts';
import { preferHeader } from './message.ts';
import type { Operation } from './operation.ts';
import { chat, replicaOperations, replicaParams } from './replica.ts';

const repositoryStatuses =
  replicaOperations.getReplica.answers[200].shape.replica.shape.repository_statuses.describe(
    'As in the replica, without diffs.',
  );

/** Payloads may gain fields, so those a reader does not know are left in. */
const repos = z.looseObject({ repos: repositoryStatuses });
const ofChat = z.looseObject({ chat });
const hooks = z.looseObject({
  running: z.boolean(),
  completed: z.boolean(),
  hookName: z.string().optional(),
  hookType: z.string().optional().describe('`global`, `environment` or `repository`.'),
  phase: z.string().optional().describe('`warm` or `start`.'),
  repoName: z.string().nullable().optional(),
  output: z
    .string()
    .optional()
    .describe('Of `hooks.progress`: what the hook has written since the last one.'),
  exitCode: z.int().nullable().optional(),
  timedOut: z.boolean().optional(),
});

/** The payload of each type of event. */
const payloads = {
  'engine.ready': z.looseObject({ version: z.string() }),
  'engine.status.changed': z.looseObject({ status: z.string() }),
  'repo.discovered': repos,
  'repo.status.changed': repos,
  'chat.created': ofChat.extend({ clientRequestId: z.string().optional() }),
  'chat.updated': ofChat,
  'chat.deleted': z.looseObject({ chatId: id }),
  'chat.turn.accepted': z.looseObject({
    chatId: id,
    messageId: id,
    queued: z.boolean(),
    position: z.int().nullable(),
  }),
  'chat.turn.started': z.looseObject({ chatId: id, messageId: id }),
  'chat.turn.delta': z.looseObject({
    chatId: id,
    event: z.record(z.string(), z.unknown()).describe("The agent's own message, or a piece of it."),
  }),
  'chat.turn.completed': z.looseObject({
    chatId: id,
    isComplete: z.boolean(),
    messageId: id.optional(),
    repository_statuses: z
      .array(
        z.looseObject({
          repository: z.string(),
          branch: z.string().nullable(),
          default_branch: z.string().nullable(),
          pr_urls: z.array(z.string()),
        }),
      )
      .optional(),
    pr_urls: z.array(z.string()).optional().describe('Of pull requests that were opened in the turn.'),
  }),
  'chat.interrupted': z.looseObject({ chatId: id, interrupted: z.boolean(), queue: z.array(id) }),
  'hooks.started': hooks,
  'hooks.progress': hooks,
  'hooks.completed': hooks,
  'hooks.failed': hooks,
  'hooks.status': hooks,
  'preview.changed': z.looseObject({
    previews: z.array(z.looseObject({ port: z.int(), publicUrl: z.string(), createdAt: time })),
  }),
  'replica.status.changed': z.looseObject({
    status: z.enum(['preparing', 'active', 'sleeping', 'archived', 'error', 'deleted']),
  }),
  error: z.looseObject({ code: z.string(), message: z.string(), details: z.unknown().optional() }),
  'stream.gap': z.looseObject({
    lastEventId: z.string().describe('What was asked for.'),
    resumesAfter: z.string().describe('Events up to this id are not sent.'),
  }),
} as const satisfies Record<string, z.ZodType>;

type KnownType = keyof typeof payloads;

const eventId = z.string().describe('Send it as `Last-Event-ID` to go on after this event.');
const known = <T extends KnownType>(type: T) =>
  z.object({ id: eventId, ts: time, type: z.literal(type), payload: payloads[type] });

const replicaEvent = z
  .union([
    z.discriminatedUnion('type', [
      known('engine.ready'),
      known('engine.status.changed'),
      known('repo.discovered'),
      known('repo.status.changed'),
      known('chat.created'),
      known('chat.updated'),
      known('chat.deleted'),
      known('chat.turn.accepted'),
      known('chat.turn.started'),
      known('chat.turn.delta'),
      known('chat.turn.completed'),
      known('chat.interrupted'),
      known('hooks.started'),
      known('hooks.progress'),
      known('hooks.completed'),
      known('hooks.failed'),
      known('hooks.status'),
      known('preview.changed'),
      known('replica.status.changed'),
      known('error'),
      known('stream.gap'),
    ]),
    z
      .object({
        id: eventId,
        ts: time,
        type: z.string().refine((type) => !Object.hasOwn(payloads, type)),
        payload: z.record(z.string(), z.unknown()),
      })
      .describe('A type that a later release may add.'),
  ])
  .meta({ id: 'ReplicaEvent' });

export const eventOperations = {
  streamReplicaEvents: {
    method: 'GET',
    path: '/v1/replica/{id}/events',
    tag: 'Replicas',
    summary: 'Follow what happens in a replica',
    description: [
      'Server-sent events, each with its id in `id:` and its type in `event:`. Ids go up by one.',
      'Without more, the stream begins with what happens next. `Last-Event-ID` (or `last_event_id`; the header counts when',
      'both are there) goes on after that event; `0` begins with the oldest event that is kept. Kept are the last 5,000',
      'events of a replica, for at most 7 days. When events after the given id are no longer kept, or the id is unknown,',
      '`stream.gap` comes first and the stream goes on with the oldest event that is kept after it, or with what happens next.',
      '`snapshot=true` first sends the present state, unless the stream goes on after an event without a gap:',
      '`replica.status.changed`, `repo.status.changed`, one `chat.updated` for each chat, `hooks.status`, `preview.changed`.',
      'The last event of the snapshot has the id of the last event it includes; those before it have ids from which a',
      'stream begins with the whole snapshot again. What happens while the snapshot is taken may be in it and come again.',
      'The stream of a sleeping replica opens without waking it. It ends after `replica.status.changed` with status `deleted`.',
    ].join(' '),
    access: 'member',
    params: replicaParams,
    query: z.object({
      last_event_id: z.string().max(1_000).optional().describe('As `Last-Event-ID`.'),
      snapshot: z.enum(['true', 'false']).optional().describe('`true` first sends the present state.'),
    }),
    headers: z.object({
      ...preferHeader,
      'last-event-id': z.string().max(1_000).optional().describe('Goes on after this event.'),
    }),
    content: 'text/event-stream',
    answers: { 200: replicaEvent },
    errors: ['invalid_state'],
  },
} as const satisfies Record<string, Operation>;
