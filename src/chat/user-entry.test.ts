import { expect, test } from 'vitest';
import { userEntry } from './user-entry.ts';

const said = {
  messageId: 'm1',
  text: 'Look',
  images: [
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
  ],
} as const;
const images = [
  { type: 'image', source: { type: 'base64', media_type: 'image/png' } },
  { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
];
const message = { role: 'user', content: [{ type: 'text', text: 'Look' }, ...images] };

test.each([
  ['claude', 'claude-user', { type: 'user', message, message_id: 'm1' }],
  ['codex', 'event_msg', { type: 'user_message', message: 'Look', images, message_id: 'm1' }],
  ['cursor', 'cursor-user', { type: 'user', message, message_id: 'm1' }],
  ['opencode', 'opencode-user', { type: 'user', message, message_id: 'm1' }],
] as const)('what a user says to %s stands in the history as %s', (provider, type, payload) => {
  expect(userEntry(provider, said)).toEqual({ type, payload });
});
