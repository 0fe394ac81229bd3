import type { chatOperations } from '../../../src/contract/chat.ts';
import { newId } from '../../../src/lib/ids.ts';
import type { Examples } from '../example.ts';
import type { Fixture } from '../fixture.ts';
import { insertChat, placeReplica } from '../replica-fixture.ts';

const replicaOf = (f: Fixture) => ({ params: { id: f.replicaId } });
const chatOf = (f: Fixture) => ({ params: { id: f.replicaId, chatId: f.chatId } });

/** A chat of its own in the replica of the fixture, with messages that wait. */
async function ownChat(f: Fixture, queued = 2) {
  const owner = { organizationId: f.org.id, replicaId: f.replicaId };
  return insertChat(f.stage.world.db, owner, queued);
}

export const chatExamples: Examples<typeof chatOperations> = {
  sendMessage: (f, as) => ({
    ...replicaOf(f),
    body: {
      message: 'Say hello.',
      chat_id: f.chatId,
      coding_agent: 'claude',
      model: 'some-model',
      images: [{ type: 'image', source: { type: 'url', url: 'https://images.example/a.png' } }],
      fast_mode: true,
      thinking_level: 'max',
      // Only an org key speaks for others.
      ...(as === 'org_key' && { senderUserId: f.member.id, senderEmail: f.member.email }),
    },
  }),
  getHistory: (f) => ({ ...replicaOf(f), query: { chat_id: f.chatId, limit: 10, offset: 0, wake: 'true' } }),
  readHistory: (f) => ({ ...replicaOf(f), query: { limit: '10', wake: 'false' } }),
  listChats: replicaOf,
  createChat: async (f) => {
    const id = await placeReplica(f.stage, { organizationId: f.org.id, state: 'preparing' });
    return { params: { id }, body: { provider: 'codex', title: 'Side work', id: newId() } };
  },
  deleteChat: async (f) => ({ params: { id: f.replicaId, chatId: (await ownChat(f)).chatId } }),
  interruptChat: chatOf,
  listSlashCommands: chatOf,
  getQueue: chatOf,
  clearQueue: async (f) => ({ params: { id: f.replicaId, chatId: (await ownChat(f)).chatId } }),
  removeQueuedMessage: async (f) => {
    const { chatId, messageIds } = await ownChat(f);
    return { params: { id: f.replicaId, chatId, messageId: messageIds[0] ?? '' } };
  },
  reorderQueue: (f) => ({ ...chatOf(f), body: { messageId: f.messageId, position: 0 } }),
};
