import type { chatOperations } from '../contract/chat.ts';
import { isStrict } from '../contract/message.ts';
import type { HandlerRequest, Handlers } from '../http/handler.ts';
import type { ReplicaService } from '../replica/service.ts';
import { wakeIfAsleep } from '../replica/wake-if-asleep.ts';
import { presentChat, presentCommand, presentHistory, presentQueue } from './present.ts';
import type { ChatService } from './service.ts';

type Parts = { chats: ChatService; replicas: Pick<ReplicaService, 'find' | 'lock' | 'request'> };
type HistoryRequest = HandlerRequest<(typeof chatOperations)['getHistory' | 'readHistory']>;

export function chatHandlers({ chats, replicas }: Parts): Handlers<typeof chatOperations> {
  const strictly = ({ prefer }: { prefer?: string | undefined }) => ({ isStrict: isStrict(prefer) });

  async function history({ db, caller, params, query }: HistoryRequest) {
    const found = await replicas.find(db, caller, params.id);
    const row = query.wake === 'false' ? found : await wakeIfAsleep(db, replicas, found);
    const { chat_id: chatId = null, limit, offset } = query;
    const page = await chats.readHistory(db, row, { chatId, limit, offset });
    return { status: 200, body: presentHistory(page, { isWaking: row.state === 'waking' }) } as const;
  }

  return {
    async sendMessage({ db, caller, params, headers, body }) {
      const accepted = await chats.send(db, caller, { ...body, ...params, ...strictly(headers) });
      const { status, messageId, position, chatId } = accepted;
      return { status: 200, body: { status, message_id: messageId, position, chat_id: chatId } };
    },
    getHistory: history,
    readHistory: history,
    async listChats({ db, caller, params, headers }) {
      const { chats: rows, isWaking } = await chats.list(db, caller, { ...params, ...strictly(headers) });
      return { status: 200, body: { chats: rows.map(presentChat), ...(isWaking && { waking: true }) } };
    },
    async createChat({ db, caller, params, headers, body }) {
      const { provider, title = null, id: chatId } = body;
      const wanted = { ...params, ...strictly(headers), provider, title, chatId };
      return { status: 201, body: presentChat(await chats.create(db, caller, wanted)) };
    },
    async deleteChat({ db, caller, params, headers }) {
      await chats.remove(db, caller, { ...params, ...strictly(headers) });
      return { status: 200, body: { success: true } };
    },
    async interruptChat({ db, caller, params, headers }) {
      const body = await chats.queue.interrupt(db, caller, { ...params, ...strictly(headers) });
      return { status: 200, body };
    },
    async listSlashCommands({ db, caller, params, headers }) {
      const commands = await chats.listCommands(db, caller, { ...params, ...strictly(headers) });
      return { status: 200, body: { commands: commands.map(presentCommand) } };
    },
    async getQueue({ db, caller, params, headers }) {
      const { processing, queue } = await chats.queue.read(db, caller, { ...params, ...strictly(headers) });
      return { status: 200, body: { chatId: params.chatId, processing, queue: presentQueue(queue) } };
    },
    async clearQueue({ db, caller, params, headers }) {
      const changed = await chats.queue.clear(db, caller, { ...params, ...strictly(headers) });
      return { status: 200, body: { ...changed, queue: presentQueue(changed.queue) } };
    },
    async removeQueuedMessage({ db, caller, params, headers }) {
      const changed = await chats.queue.remove(db, caller, { ...params, ...strictly(headers) });
      return { status: 200, body: { ...changed, queue: presentQueue(changed.queue) } };
    },
    async reorderQueue({ db, caller, params, headers, body }) {
      const changed = await chats.queue.reorder(db, caller, { ...params, ...body, ...strictly(headers) });
      return { status: 200, body: { ...changed, queue: presentQueue(changed.queue) } };
    },
  };
}
