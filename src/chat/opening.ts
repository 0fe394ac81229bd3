import { AppError } from '../contract/error.ts';
import type { CodingAgent } from '../contract/message.ts';
import type { Db } from '../db/database.ts';
import type { ReplicaRow, ReplicaService } from '../replica/service.ts';
import { presentChat } from './present.ts';
import * as store from './store.ts';

type Parts = { replicas: Pick<ReplicaService, 'emit'>; newId: () => string; now: () => Date };
type Wanted = { provider: CodingAgent; title: string | null; id?: string };

export type ChatOpening = ReturnType<typeof createOpening>;

const MAX_CHATS = 100;

/** Opens chats. The caller holds the replica, so that their number is known. */
export function createOpening({ replicas, newId, now }: Parts) {
  async function open(db: Db, row: ReplicaRow, wanted: Wanted): Promise<store.ChatRow> {
    if ((await store.selectChats(db, row.id)).length >= MAX_CHATS) {
      throw new AppError('limit_reached', `A replica has at most ${MAX_CHATS} chats; delete one first.`);
    }
    const at = now();
    const chat = await store.insertChat(db, {
      id: wanted.id ?? newId(),
      organization_id: row.organization_id,
      replica_id: row.id,
      provider: wanted.provider,
      title: wanted.title,
      created_at: at,
      updated_at: at,
    });
    if (!chat) {
      throw new AppError('already_exists', 'The replica has a chat with this id already; make another id.');
    }
    await replicas.emit(db, row.id, [{ type: 'chat.created', payload: { chat: presentChat(chat) } }]);
    return chat;
  }

  return { open };
}
