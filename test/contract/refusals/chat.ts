import type { chatOperations } from '../../../src/contract/chat.ts';
import { ofFailedReplica } from '../failed-replica.ts';
import { fill } from '../fill.ts';
import { again, type Refusals } from '../refusal.ts';

export const chatRefusals: Refusals<typeof chatOperations> = {
  sendMessage: {
    invalid_state: ofFailedReplica('sendMessage'),
    limit_reached: async (f) => {
      const { params, body } = await again(f, 'createChat', {});
      const chatId = await f.make(`/v1/replica/${params?.id}/chats`, body);
      const owners = { organization_id: f.org.id, replica_id: params?.id ?? '', chat_id: chatId };
      await fill(f.stage.world.pool, 'message', owners);
      return { params, body: { message: 'one more' } };
    },
  },
  listChats: { invalid_state: ofFailedReplica('listChats') },
  createChat: {
    invalid_state: ofFailedReplica('createChat'),
    already_exists: async (f) => ({
      ...(await again(f, 'createChat', { id: f.chatId })),
      params: { id: f.replicaId },
    }),
    limit_reached: async (f) => {
      const call = await again(f, 'createChat', {});
      const owners = { organization_id: f.org.id, replica_id: call.params?.id ?? '' };
      await fill(f.stage.world.pool, 'chat', owners);
      return call;
    },
  },
  deleteChat: { invalid_state: ofFailedReplica('deleteChat') },
  interruptChat: { invalid_state: ofFailedReplica('interruptChat') },
  listSlashCommands: { invalid_state: ofFailedReplica('listSlashCommands') },
  getQueue: { invalid_state: ofFailedReplica('getQueue') },
  clearQueue: { invalid_state: ofFailedReplica('clearQueue') },
  removeQueuedMessage: { invalid_state: ofFailedReplica('removeQueuedMessage') },
  reorderQueue: { invalid_state: ofFailedReplica('reorderQueue') },
};
