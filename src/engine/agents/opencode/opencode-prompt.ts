import type { TurnRequest } from '../../protocol.ts';
import type { JsonObject } from '../agent.ts';
import type { ModelChoice } from './opencode-model.ts';

/** The request that brings a message to a conversation: below `/session/{id}`, and what is sent there. */
export type OpencodePrompt = { path: '/message' | '/command'; body: JsonObject };

/** A message that begins with a command opencode knows is that command; any other slash is part of the text. */
export function opencodePrompt(
  { message, images, planMode }: Pick<TurnRequest, 'message' | 'images' | 'planMode'>,
  { provider, model, variant }: Pick<ModelChoice, 'provider' | 'model' | 'variant'>,
  commands: ReadonlySet<string>,
): OpencodePrompt {
  const files = images.map(({ mediaType, dataBase64 }) => ({
    type: 'file',
    mime: mediaType,
    url: `data:${mediaType};base64,${dataBase64}`,
  }));
  const shared = { agent: planMode ? 'plan' : 'build', ...(variant !== null && { variant }) };
  const [, name = '', text = ''] = /^\/(\S+)\s*(.*)$/s.exec(message) ?? [];
  if (commands.has(name))
    return {
      path: '/command',
      body: { command: name, arguments: text, model: `${provider}/${model}`, parts: files, ...shared },
    };
  const words = message === '' ? [] : [{ type: 'text', text: message }];
  return {
    path: '/message',
    body: { model: { providerID: provider, modelID: model }, parts: [...words, ...files], ...shared },
  };
}
