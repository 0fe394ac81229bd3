import { join } from 'node:path';
import { removeHomeFile, writeHomeFile } from '../home-file.ts';
import { readOwnFile } from '../read-own-file.ts';

/** The agent's own name of a chat's conversation. */
type Conversation = { agent: string; id: string };

export type Conversations = {
  /** Null when the chat has none with this agent. */
  find(chatId: string, agent: string): string | null;
  keep(chatId: string, conversation: Conversation): void;
  forget(chatId: string): void;
};

/** Which conversation belongs to which chat, in a file each, so that it goes on after a kill and after sleep. */
export function openConversations(home: string): Conversations {
  const folder = ['.replica', 'engine', 'conversations'];
  const parts = (chatId: string) => [...folder, `${chatId}.json`];
  return {
    find(chatId, agent) {
      const text = readOwnFile(join(home, ...parts(chatId)), MAX_BYTES);
      const kept = text === null ? null : parse(text.toString());
      return kept?.agent === agent ? kept.id : null;
    },
    keep(chatId, { agent, id }) {
      const content = Buffer.from(JSON.stringify({ agent, id }));
      writeHomeFile({ home, parts: parts(chatId), content, mode: 0o600 });
    },
    forget: (chatId) => removeHomeFile(home, parts(chatId)),
  };
}

const MAX_BYTES = 10_000;

function parse(text: string): Conversation | null {
  try {
    const { agent, id } = JSON.parse(text) as Record<string, unknown>;
    // The name becomes an argument of the agent's program, so it must not look like an option.
    return typeof agent === 'string' && typeof id === 'string' && /^[A-Za-z0-9][\w.-]{0,199}$/.test(id)
      ? { agent, id }
      : null;
  } catch {
    return null;
  }
}
