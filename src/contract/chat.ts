import { z } from 'zod';
import { id, success, text, time } from './common.ts';
import { codingAgent, MESSAGE_BODY_LIMIT, messageOptions, messageText, preferHeader } from './message.ts';
import type { Operation } from './operation.ts';
import { chat, replicaParams } from './replica.ts';

const chatParams = z.object({ id, chatId: id });
const headers = z.object(preferHeader);

const queuedMessage = z
  .object({ id, message: z.string(), queuedAt: time, senderDisplayName: z.string() })
  .meta({ id: 'QueuedMessage' });
const queue = z.array(queuedMessage).describe('In the order of work. The message in work is not in it.');
const changedQueue = z
  .object({ success: z.boolean().describe('Whether the queue changed.'), queue })
  .meta({ id: 'ChangedQueue' });

const sender = z
  .object({ userId: id.nullable(), email: z.string().nullable(), displayName: z.string() })
  .meta({ id: 'MessageSender' });

const history = z
  .object({
    thread_id: id.nullable().describe('The chat, when all events are of one.'),
    events: z
      .array(z.object({ timestamp: time, type: z.string(), payload: z.record(z.string(), z.unknown()) }))
      .describe("Oldest first. Payloads are the agent's own messages."),
    total: z.int(),
    has_more: z.boolean().describe('Whether there are older events than these.'),
    coding_agent: codingAgent,
    waking: z.boolean(),
    senders: z.record(z.string(), sender).describe('Who sent a message, by its id.'),
  })
  .meta({ id: 'History' });

const whole = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.coerce.number({ error }).int({ error }).min(min, { error }).max(max, { error });
};
const historyQuery = z.object({
  chat_id: id.optional().describe('Only events of this chat.'),
  limit: whole(1, 500)
    .default(50)
    .describe('Events on a page, 1 to 500. A page of large events may be shorter.'),
  offset: whole(0, 1_000_000_000)
    .default(0)
    .describe('How many events from the end to pass over: add the number of events of each page.'),
  wake: z.enum(['true', 'false']).optional().describe('`false` reads without waking the replica.'),
});

const ofChats = { tag: 'Chats', access: 'member', errors: ['invalid_state'] } as const;

export const chatOperations = {
  sendMessage: {
    method: 'POST',
    path: '/v1/replica/{id}/messages',
    tag: 'Chats',
    summary: 'Send a message to an agent',
    description:
      'The message is kept before this answers. It goes to the chat `chat_id`, else to the most recent chat of `coding_agent`, or of any agent when none is named; a chat is made when none fits. It waits in the queue while the agent works. A sleeping replica wakes, unless `Prefer: handling=strict`. Leading `/plan`, `/goal` and `/fast` are taken off the message and set the modes.',
    access: 'member',
    bodyLimit: MESSAGE_BODY_LIMIT,
    params: replicaParams,
    headers,
    body: z.object({
      message: messageText,
      chat_id: id.optional(),
      coding_agent: codingAgent.optional(),
      ...messageOptions,
      senderUserId: id.optional().describe('A member for whom an org API key speaks.'),
      senderEmail: z.email().max(320).optional().describe('A person for whom an org API key speaks.'),
    }),
    answers: {
      200: z.object({
        status: z.enum(['sent', 'queued', 'waking']),
        message_id: id,
        position: z.int().nullable().describe('Place in the queue from 0; null unless queued.'),
        chat_id: id,
      }),
    },
    errors: ['invalid_state', 'limit_reached'],
  },
  getHistory: {
    method: 'GET',
    path: '/v1/replica/{id}/history',
    tag: 'Chats',
    summary: 'Read what was said',
    description:
      'Pages from the end. Answered from what is kept outside the sandbox. A sleeping replica is woken, unless `wake=false`, and `waking` says so.',
    access: 'member',
    params: replicaParams,
    query: historyQuery,
    answers: { 200: history },
  },
  readHistory: {
    method: 'GET',
    path: '/v1/replica/{id}/read',
    tag: 'Chats',
    summary: 'Read what was said (deprecated)',
    description: 'The older name of `GET /v1/replica/{id}/history`; use that one.',
    deprecatedSince: '2026-05-17',
    access: 'member',
    params: replicaParams,
    query: historyQuery,
    answers: { 200: history },
  },
  listChats: {
    ...ofChats,
    method: 'GET',
    path: '/v1/replica/{id}/chats',
    summary: 'List the chats of a replica',
    params: replicaParams,
    headers,
    answers: { 200: z.object({ chats: z.array(chat), waking: z.boolean().optional() }) },
  },
  createChat: {
    ...ofChats,
    method: 'POST',
    path: '/v1/replica/{id}/chats',
    summary: 'Open a chat',
    params: replicaParams,
    headers,
    body: z.object({
      provider: codingAgent,
      title: text(200).nullable().optional(),
      id: id.optional().describe('An id made by the caller, which no chat of the replica has had.'),
    }),
    answers: { 201: chat },
    errors: ['invalid_state', 'already_exists', 'limit_reached'],
  },
  deleteChat: {
    ...ofChats,
    method: 'DELETE',
    path: '/v1/replica/{id}/chats/{chatId}',
    summary: 'Delete a chat',
    description: 'Its queue goes with it, and the turn that runs in it is interrupted.',
    params: chatParams,
    headers,
    answers: { 200: success },
  },
  interruptChat: {
    ...ofChats,
    method: 'POST',
    path: '/v1/replica/{id}/chats/{chatId}/interrupt',
    summary: 'Interrupt the turn that runs in a chat',
    description: 'The next message of the queue follows.',
    params: chatParams,
    headers,
    answers: {
      200: z.object({
        interrupted: z.boolean().describe('Whether a turn was running.'),
        queue: z.array(id).describe('The messages that still wait.'),
      }),
    },
  },
  listSlashCommands: {
    ...ofChats,
    method: 'GET',
    path: '/v1/replica/{id}/chats/{chatId}/slash-commands',
    summary: 'List what can be written after a slash in a chat',
    description: "The service's own words, and those of the agent once it has worked in the replica.",
    params: chatParams,
    headers,
    answers: {
      200: z.object({
        commands: z.array(
          z.object({
            command: z.string().describe('Without the slash.'),
            description: z.string(),
            argumentHint: z.string().optional(),
            providers: z.array(codingAgent),
          }),
        ),
      }),
    },
  },
  getQueue: {
    ...ofChats,
    method: 'GET',
    path: '/v1/replica/{id}/chats/{chatId}/queue',
    summary: 'Read the queue of a chat',
    params: chatParams,
    headers,
    answers: { 200: z.object({ chatId: id, processing: z.boolean(), queue }) },
  },
  clearQueue: {
    ...ofChats,
    method: 'DELETE',
    path: '/v1/replica/{id}/chats/{chatId}/queue',
    summary: 'Remove all messages from the queue of a chat',
    description: 'The message in work is not interrupted.',
    params: chatParams,
    headers,
    answers: { 200: changedQueue },
  },
  removeQueuedMessage: {
    ...ofChats,
    method: 'DELETE',
    path: '/v1/replica/{id}/chats/{chatId}/queue/{messageId}',
    summary: 'Remove one message from the queue of a chat',
    params: z.object({ id, chatId: id, messageId: id }),
    headers,
    answers: { 200: changedQueue },
  },
  reorderQueue: {
    ...ofChats,
    method: 'PATCH',
    path: '/v1/replica/{id}/chats/{chatId}/queue/reorder',
    summary: 'Move a message within the queue of a chat',
    params: chatParams,
    headers,
    body: z.object({
      messageId: id,
      position: z.int().min(0).describe('Place from 0; past the end means the end.'),
    }),
    answers: { 200: changedQueue },
  },
} as const satisfies Record<string, Operation>;
