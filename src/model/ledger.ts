import type { CodingAgent } from '../contract/message.ts';
import type { Db } from '../db/database.ts';
import * as store from './ledger-store.ts';
import { costMicros, type ModelPrices } from './price.ts';
import type { TokenUsage } from './usage.ts';

type Parts = { prices: ModelPrices; newId: () => string; now: () => Date };
type Asker = {
  organizationId: string;
  replicaId: string;
  agent: CodingAgent;
  chatId: string;
  messageId: string | null;
};

export type { TokenSums } from './ledger-store.ts';
export type ModelLedger = ReturnType<typeof createModelLedger>;

/** The most messages that are told apart in one answer. */
const MAX_MESSAGES = 500;

/** What models were asked for, and what it costs. */
export function createModelLedger({ prices, newId, now }: Parts) {
  return {
    record(db: Db, asker: Asker, usage: TokenUsage & { isOffline: boolean }): Promise<void> {
      return store.insertUsage(db, {
        id: newId(),
        organization_id: asker.organizationId,
        replica_id: asker.replicaId,
        chat_id: asker.chatId,
        message_id: asker.messageId,
        agent: asker.agent,
        model: usage.model,
        is_offline: usage.isOffline,
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
        cache_read_tokens: usage.cacheReadTokens,
        cache_write_tokens: usage.cacheWriteTokens,
        cost_micros: usage.isOffline ? 0 : costMicros(usage, prices),
        at: now(),
      });
    },

    async ofReplica(db: Db, replicaId: string) {
      return {
        total: await store.sumOfReplica(db, { replicaId }),
        chats: await store.sumByChat(db, { replicaId }),
        messages: await store.sumByMessage(db, { replicaId, limit: MAX_MESSAGES }),
      };
    },

    ofOrganization: store.sumOfOrganization,
  };
}
