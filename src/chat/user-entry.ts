import type { z } from 'zod';
import type { CodingAgent, imageContent } from '../contract/message.ts';
import type { JsonRecord } from './bounded-json.ts';

type Said = { messageId: string; text: string; images: readonly Image[] };
type Image = z.output<typeof imageContent>;

/** How a user's message stands in the history of a chat: in the shape in which its agent's own messages come. */
export function userEntry(provider: CodingAgent, said: Said): { type: string; payload: JsonRecord } {
  return shapes[provider](said);
}

const shapes: Record<CodingAgent, (said: Said) => { type: string; payload: JsonRecord }> = {
  claude: (said) => ({ type: 'claude-user', payload: userMessage(said) }),
  codex: ({ messageId, text, images }) => ({
    type: 'event_msg',
    payload: { type: 'user_message', message: text, images: images.map(withoutData), message_id: messageId },
  }),
  cursor: (said) => ({ type: 'cursor-user', payload: userMessage(said) }),
  opencode: (said) => ({ type: 'opencode-user', payload: userMessage(said) }),
};

function userMessage({ messageId, text, images }: Said): JsonRecord {
  const content = [{ type: 'text', text }, ...images.map(withoutData)];
  return { type: 'user', message: { role: 'user', content }, message_id: messageId };
}

/** The bytes of an image are kept with the message only. */
function withoutData({ type, source }: Image): JsonRecord {
  return {
    type,
    source: source.type === 'url' ? source : { type: source.type, media_type: source.media_type },
  };
}
