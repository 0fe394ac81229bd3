import type { AgentPrograms } from '../agent-program/service.ts';
import type { CodingAgent } from '../contract/message.ts';
import type { Db } from '../db/database.ts';
import { usualThinkingLevel } from '../engine/agents/thinking-level.ts';
import type { TurnImage, TurnRequest } from '../engine/protocol.ts';
import { type FetchImages, ImageError } from './fetch-image.ts';
import { type MessageOptions, selectOptions, type Turn } from './message-store.ts';

/** What a turn is run with, besides the message itself. */
export type TurnSettings = {
  /** `scripted` lets the engine's own agent without a model work on every message. */
  runner: 'real' | 'scripted';
  silenceMs: number;
  durationMs: number;
};

type Parts = {
  settings: TurnSettings;
  programs: Pick<AgentPrograms, 'request' | 'folderOf'>;
  /** The organization's key for an agent that talks to its provider itself. */
  credentialOf(
    db: Db,
    key: { organizationId: string; agent: CodingAgent },
  ): Promise<{ apiKey: string } | null>;
  fetchImages: FetchImages;
};

export type Composed =
  | { request: TurnRequest }
  /** The agent is being installed on this machine. */
  | 'installing'
  /** It can never be sent: a sentence for the user. */
  | { refusal: string };

export type ComposeTurn = ReturnType<typeof createComposeTurn>;

/** Puts together what the engine is told of a message. */
export function createComposeTurn({ settings, programs, credentialOf, fetchImages }: Parts) {
  return async function compose(db: Db, turn: Turn, signal: AbortSignal): Promise<Composed> {
    const { provider } = turn;
    const isScripted = settings.runner === 'scripted';
    if (!isScripted) {
      const state = programs.request(provider);
      if (state === 'installing') return state;
      if (state !== 'installed') return { refusal: state.failed };
    }
    const options = await selectOptions(db, turn.id);
    const credential =
      provider === 'cursor' && !isScripted
        ? await credentialOf(db, { organizationId: turn.organization_id, agent: provider })
        : null;
    try {
      const request: TurnRequest = {
        id: turn.id,
        chatId: turn.chat_id,
        agent: isScripted ? 'scripted' : provider,
        agentFolder: isScripted ? null : programs.folderOf(provider),
        message: turn.text,
        images: await load(options.images, signal),
        model: options.model,
        thinkingLevel: options.thinking_level ?? usualThinkingLevel(provider),
        planMode: options.plan_mode,
        goalMode: options.goal_mode,
        fastMode: options.fast_mode,
        credential: credential?.apiKey ?? null,
        silenceMs: settings.silenceMs,
        durationMs: settings.durationMs,
      };
      return { request };
    } catch (error) {
      if (error instanceof ImageError) return { refusal: error.message };
      throw error;
    }
  };

  async function load(images: MessageOptions['images'], signal: AbortSignal): Promise<TurnImage[]> {
    const urls = images.flatMap(({ source }) => (source.type === 'url' ? [source.url] : []));
    const fetched = (await fetchImages(urls, signal)).values();
    return images.flatMap(({ source }) => {
      if (source.type === 'base64') return { mediaType: source.media_type, dataBase64: source.data };
      return fetched.next().value ?? [];
    });
  }
}
