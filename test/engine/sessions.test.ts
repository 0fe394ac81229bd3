import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ConversationLost } from '../../src/engine/agents/agent.ts';
import { TREE_VARIABLE } from '../../src/engine/process-tree.ts';
import { chatId, message, openPlace } from './agent-place.ts';

describe('the conversation of a chat', () => {
  test('is opened once for messages that fit, with what the agent needs', async () => {
    const { work, opened, workshop } = await openPlace();
    await work(message({ agentFolder: 'claude-1' }));
    await work(message());
    expect(opened).toHaveLength(1);
    const { gatewayPort, agentsFolder, secret } = workshop.context;
    expect(opened[0]).toMatchObject({
      chatId,
      resume: null,
      folder: path.join(workshop.home, 'workspaces'),
      environment: { HOME: workshop.home, [TREE_VARIABLE]: `agent-${chatId}` },
      modelUrl: `http://127.0.0.1:${gatewayPort}/model/scripted/${chatId}`,
      modelKey: secret,
      programs: path.join(agentsFolder, 'claude-1'),
      mcpServers: {
        'replica-workspace': { transport: 'http', url: `http://127.0.0.1:${gatewayPort}/mcp/${chatId}` },
      },
    });
  });

  test('is closed and resumed for a message that does not fit', async () => {
    const { work, opened, closed } = await openPlace({
      open: async () => ({ fits: ({ model }) => model === null }),
    });
    await work(message());
    await work(message({ model: 'other' }));
    expect(closed).toEqual(['conversation-1']);
    expect(opened.map(({ resume }) => resume)).toEqual([null, 'conversation-1']);
  });

  test('is resumed by a later engine, under the name that it had last', async () => {
    let name = 'first-name';
    const { work, opened, restart } = await openPlace({
      open: async () => ({
        get id() {
          return name;
        },
        work: async () => {
          name = 'second-name';
        },
      }),
    });
    await work(message());
    await restart();
    await work(message());
    expect(opened.map(({ resume }) => resume)).toEqual([null, 'second-name']);
  });

  test('begins anew, and the user is told, when the agent does not know it any more', async () => {
    const { work, opened, notices, restart } = await openPlace({
      open: async ({ resume }) => {
        if (resume !== null) throw new ConversationLost('gone');
        return {};
      },
    });
    await work(message());
    await restart();
    await work(message());
    expect(opened.map(({ resume }) => resume)).toEqual([null, 'conversation-1', null]);
    expect(notices).toEqual([{ type: 'notice', text: expect.stringMatching(/not on the disk any more/) }]);
  });

  test('is not one of another agent', async () => {
    const { work, opened, closed, agent } = await openPlace();
    await work(message());
    await work(message({ agent: 'codex' }), undefined, { ...agent, name: 'codex' });
    expect(opened.map(({ resume }) => resume)).toEqual([null, null]);
    expect(closed).toEqual(['conversation-1']);
  });

  test.each([
    ['an option', (file: string) => writeFileSync(file, '{"agent":"scripted","id":"--help"}')],
    ['no JSON', (file: string) => writeFileSync(file, 'hello')],
    ['no object', (file: string) => writeFileSync(file, 'null')],
    ['endless', (file: string) => writeFileSync(file, `{"id":"${'x'.repeat(100_000)}"}`)],
    ['a link', (file: string) => symlinkSync('/etc/passwd', file)],
    ['a folder', (file: string) => mkdirSync(file)],
  ])('is a new one when its name on the disk is %s', async (_name, spoil) => {
    const { work, opened, workshop } = await openPlace();
    const folder = path.join(workshop.home, '.replica/engine/conversations');
    mkdirSync(folder, { recursive: true });
    spoil(path.join(folder, `${chatId}.json`));
    await work(message());
    expect(opened.map(({ resume }) => resume)).toEqual([null]);
  });

  test('is not known any more when its chat was forgotten, once or twice', async () => {
    const { work, opened, closed, sessions, workshop } = await openPlace();
    await work(message());
    await sessions().forget(chatId);
    await sessions().forget(chatId);
    expect(closed).toEqual(['conversation-1']);
    expect(existsSync(path.join(workshop.home, `.replica/engine/conversations/${chatId}.json`))).toBe(false);
    await work(message());
    expect(opened.map(({ resume }) => resume)).toEqual([null, null]);
  });

  test('is not opened, for a reason that is said, where a file is in place of the work folder', async () => {
    const { work, workshop } = await openPlace();
    const folder = path.join(workshop.home, 'workspaces');
    rmSync(folder, { recursive: true });
    writeFileSync(folder, '');
    await expect(work(message())).rejects.toThrow(
      `The agent cannot be started: ${folder} cannot be used, because the file system answers EEXIST.`,
    );
  });

  test('is not opened for a message that was taken back', async () => {
    const { work, opened } = await openPlace();
    await expect(work(message(), AbortSignal.abort(new Error('interrupted')))).rejects.toThrow('interrupted');
    expect(opened).toEqual([]);
  });

  test('has commands, which are reported when it is opened', async () => {
    const commands = [{ command: 'compact', description: 'Makes it shorter.', argumentHint: null }];
    const { work, workshop } = await openPlace({ open: async () => ({ commands }) });
    await work(message());
    await work(message());
    const reports = workshop.reports.filter(({ type }) => type === 'agent.commands');
    expect(reports.map(({ payload }) => payload)).toEqual([{ agent: 'scripted', commands }]);
  });

  test('does not depend on the report of its commands', async () => {
    const commands = [{ command: 'compact', description: 'Makes it shorter.', argumentHint: null }];
    const { work, workshop, opened } = await openPlace({ open: async () => ({ commands }) });
    workshop.context.report = () => Promise.reject(new Error('too long'));
    await work(message());
    expect(opened).toHaveLength(1);
  });
});

describe('an agent that nobody writes to', () => {
  afterEach(() => void vi.useRealTimers());

  test('is closed after a while, and not while it works', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'performance'] });
    const gate = Promise.withResolvers<void>();
    const { work, closed } = await openPlace({
      open: async ({ chatId }) => ({
        id: chatId,
        work: () => (chatId === 'busy' ? gate.promise : Promise.resolve()),
      }),
    });
    const long = work(message({ chatId: 'busy' }));
    await work(message({ chatId: 'idle' }));
    await vi.advanceTimersByTimeAsync(14 * 60_000);
    expect(closed).toEqual([]);
    await vi.advanceTimersByTimeAsync(3 * 60_000);
    expect(closed).toEqual(['idle']);
    gate.resolve();
    await long;
    await vi.advanceTimersByTimeAsync(17 * 60_000);
    expect(closed).toEqual(['idle', 'busy']);
  });

  test('is closed when four others were used since, not counting those at work', async () => {
    const gate = Promise.withResolvers<void>();
    const { work, closed } = await openPlace({
      open: async ({ chatId }) => ({
        id: chatId,
        work: () => (chatId === 'busy' ? gate.promise : Promise.resolve()),
      }),
    });
    const long = work(message({ chatId: 'busy' }));
    for (const chatId of ['a', 'b', 'c', 'd', 'a']) await work(message({ chatId }));
    expect(closed).toEqual([]);
    await work(message({ chatId: 'e' }));
    expect(closed).toEqual(['b']);
    gate.resolve();
    await long;
    expect(closed).toEqual(['b', 'c']);
  });
});
