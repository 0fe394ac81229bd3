import type { ChatCommand } from './commands.ts';
import type { HistoryPage } from './history.ts';
import type { MessageRow } from './message-store.ts';
import type { ChatRow } from './store.ts';

/** A chat as callers see it, in answers and in events. */
export function presentChat(row: ChatRow) {
  return {
    id: row.id,
    provider: row.provider,
    title: row.title,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    processing: row.processing,
    lastMessageText: row.last_message_text,
  };
}

export function presentQueue(queue: readonly MessageRow[]) {
  return queue.map((row) => ({
    id: row.id,
    message: row.text,
    queuedAt: row.created_at.toISOString(),
    senderDisplayName: row.sender?.displayName ?? '',
  }));
}

export function presentHistory(page: HistoryPage, { isWaking }: { isWaking: boolean }) {
  return {
    thread_id: page.threadId,
    events: page.entries.map(({ at, type, payload }) => ({ timestamp: at.toISOString(), type, payload })),
    total: page.total,
    has_more: page.hasMore,
    coding_agent: page.codingAgent,
    waking: isWaking,
    senders: Object.fromEntries(page.senders),
  };
}

export function presentCommand({ argumentHint, ...command }: ChatCommand) {
  return { ...command, ...(argumentHint !== null && { argumentHint }) };
}
