import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFetchImages } from '../../src/chat/fetch-image.ts';
import { createComposeTurn } from '../../src/chat/turn-request.ts';
import { transact } from '../../src/db/transact.ts';
import { type ImageHost, images, startImageHost } from '../world/image-host.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;
let host: ImageHost;
beforeAll(async () => {
  [stage, host] = await Promise.all([openStage(), startImageHost()]);
});
afterAll(async () => {
  await stage?.close();
  await host?.close();
});

const never = new AbortController().signal;
type Parts = Parameters<typeof createComposeTurn>[0];
type Sent = Omit<Parameters<Stage['chats']['send']>[2], 'id' | 'isStrict'>;

/** What the engine would be told of a message. */
async function compose(body: Sent, parts: Partial<Parts> = {}) {
  const { id, caller } = await stage.replica();
  const accepted = await transact(stage.db, (tx) =>
    stage.chats.send(tx, caller, { id, isStrict: false, ...body }),
  );
  const turn = await stage.chats.turns.find(stage.db, { replicaId: id, id: accepted.messageId });
  if (!turn) throw new Error('the message is gone');
  const composeTurn = createComposeTurn({
    settings: { runner: 'real', silenceMs: 1_000, durationMs: 2_000 },
    programs: { request: () => 'installed', folderOf: (agent) => `${agent}-1` },
    credentialOf: async (_db, { agent }) => ({ apiKey: `key of ${agent}` }),
    fetchImages: createFetchImages({ allowPrivateTargets: true }),
    ...parts,
  });
  const composed = await composeTurn(stage.db, turn);
  return composed !== 'installing' && 'fetchImages' in composed ? composed.fetchImages(never) : composed;
}

describe('what the engine is told of a message', () => {
  test('is everything that the message asks for', async () => {
    const message = '/plan look at the frogs';
    const asked = {
      message,
      coding_agent: 'codex',
      goal_mode: true,
      model: 'm',
      thinking_level: 'max',
    } as const;
    expect(await compose(asked)).toMatchObject({
      request: {
        agent: 'codex',
        agentFolder: 'codex-1',
        message: 'look at the frogs',
        images: [],
        model: 'm',
        thinkingLevel: 'max',
        planMode: true,
        goalMode: true,
        fastMode: false,
        credential: null,
        silenceMs: 1_000,
        durationMs: 2_000,
      },
    });
  });

  test.each([
    ['claude', 'high', null],
    ['codex', 'medium', null],
    ['opencode', 'medium', null],
    ['cursor', 'medium', 'key of cursor'],
  ] as const)(
    'has the usual level and the key only for who needs it: %s',
    async (agent, level, credential) => {
      expect(await compose({ message: 'hello', coding_agent: agent })).toMatchObject({
        request: { agent, thinkingLevel: level, credential, model: null },
      });
    },
  );

  test('has the images themselves, in their order, wherever they come from', async () => {
    const inline = { type: 'base64', media_type: 'image/gif', data: 'R0lGODlh' } as const;
    const wanted = [
      { type: 'url', url: host.url('/png') },
      inline,
      { type: 'url', url: host.url('/redirect/1/webp') },
    ] as const;
    const composed = await compose({
      message: 'look',
      images: wanted.map((source) => ({ type: 'image', source })),
    });
    expect(composed).toMatchObject({
      request: {
        images: [
          { mediaType: 'image/png', dataBase64: images['image/png'].toString('base64') },
          { mediaType: 'image/gif', dataBase64: 'R0lGODlh' },
          { mediaType: 'image/webp', dataBase64: images['image/webp'].toString('base64') },
        ],
      },
    });
  });

  test('is nothing when an image cannot be had: a sentence says why', async () => {
    const source = { type: 'url', url: host.url('/status/404') } as const;
    expect(await compose({ message: 'look', images: [{ type: 'image', source }] })).toEqual({
      refusal: `The image ${host.url('/status/404')} could not be fetched: its host answered 404.`,
    });
  });

  test('waits while the agent is being installed, and is nothing when that has failed', async () => {
    const programs = (state: 'installing' | { failed: string }) => ({
      programs: { request: () => state, folderOf: () => 'unused' },
    });
    expect(await compose({ message: 'hello' }, programs('installing'))).toBe('installing');
    expect(await compose({ message: 'hello' }, programs({ failed: 'There is no npm.' }))).toEqual({
      refusal: 'There is no npm.',
    });
  });

  test('names the scripted agent, without programs and keys, where that works on everything', async () => {
    const settings = { runner: 'scripted', silenceMs: 1, durationMs: 1 } as const;
    const programs = { request: () => ({ failed: 'never asked' }), folderOf: () => 'unused' };
    expect(await compose({ message: 'hello', coding_agent: 'cursor' }, { settings, programs })).toMatchObject(
      {
        request: { agent: 'scripted', agentFolder: null, credential: null },
      },
    );
  });
});
