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

/** A message in work; its options are read when nobody has them at hand. */
export type TurnToSend = Turn & { options?: MessageOptions };

/** What the engine is told, or a sentence for the user when it can never be sent. */
export type Whole = { request: TurnRequest } | { refusal: string };

export type Composed =
  | Whole
  /** The agent is being installed on this machine. */
  | 'installing'
  /** Images are to be fetched first, and their hosts may take their time. */
  | { fetchImages: (signal: AbortSignal) => Promise<Whole> };

export type ComposeTurn = ReturnType<typeof createComposeTurn>;

/** Puts together what the engine is told of a message. */
export function createComposeTurn({ settings, programs, credentialOf, fetchImages }: Parts) {
  return async function compose(db: Db, turn: TurnToSend): Promise<Composed> {
    const { provider } = turn;
    const isScripted = settings.runner === 'scripted';
    if (!isScripted) {
      const state = programs.request(provider);
      if (state === 'installing') return state;
      if (state !== 'installed') return { refusal: state.failed };
    }
    const options = turn.options ?? (await selectOptions(db, turn.id));
    const credential =
      provider === 'cursor' && !isScripted
        ? await credentialOf(db, { organizationId: turn.organization_id, agent: provider })
        : null;
    const request: TurnRequest = {
      id: turn.id,
      chatId: turn.chat_id,
      agent: isScripted ? 'scripted' : provider,
      agentFolder: isScripted ? null : programs.folderOf(provider),
      message: turn.text,
      images: [],
      model: options.model,
      thinkingLevel: options.thinking_level ?? usualThinkingLevel(provider),
      planMode: options.plan_mode,
      goalMode: options.goal_mode,
      fastMode: options.fast_mode,
      credential: credential?.apiKey ?? null,
      silenceMs: settings.silenceMs,
      durationMs: settings.durationMs,
    };
    const { images } = options;
    const urls = images.flatMap(({ source }) => (source.type === 'url' ? [source.url] : []));
    if (urls.length === 0) return { request: { ...request, images: inOrder(images, []) } };
    return { fetchImages: (signal) => complete(request, { images, urls, signal }) };
  };

  async function complete(
    request: TurnRequest,
    { images, urls, signal }: { images: Images; urls: readonly string[]; signal: AbortSignal },
  ): Promise<Whole> {
    try {
      return { request: { ...request, images: inOrder(images, await fetchImages(urls, signal)) } };
    } catch (error) {
      if (error instanceof ImageError) return { refusal: error.message };
      throw error;
    }
  }
}

type Images = MessageOptions['images'];

/** All images of a message; those that were fetched stand where their addresses do. */
function inOrder(images: Images, fetched: readonly TurnImage[]): TurnImage[] {
  const next = fetched.values();
  return images.flatMap(({ source }) => {
    if (source.type === 'base64') return { mediaType: source.media_type, dataBase64: source.data };
    return next.next().value ?? [];
  });
}
