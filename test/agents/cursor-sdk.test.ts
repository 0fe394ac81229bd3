import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Agent } from '../../src/engine/agents/agent.ts';
import { createCursorAgent } from '../../src/engine/agents/cursor/cursor.ts';
import { agentPrograms } from '../world/agents-folder.ts';
import { type AgentStage, openAgentStage } from './agent-stage.ts';

/** What can be shown with the real SDK where there is no way to Cursor; the rest is shown with a stand-in. */
const root = path.resolve(import.meta.dirname, '../..');
const KEY = 'crsr_not_a_real_key';

describe('the real SDK of cursor', () => {
  let stage: AgentStage;
  beforeAll(async () => {
    const cursor = createCursorAgent({
      node: process.execPath,
      script: path.join(root, 'src/engine/main.ts'),
    });
    const agent: Agent = {
      ...cursor,
      open(spec, signal) {
        const environment = { ...spec.environment, HTTPS_PROXY: 'http://127.0.0.1:9' };
        return cursor.open({ ...spec, environment }, signal);
      },
    };
    stage = await openAgentStage({ agent, programs: agentPrograms('cursor'), credential: KEY });
  });
  afterAll(() => stage?.close());

  test('starts, and fails soon when there is no way to Cursor', async () => {
    const chat = stage.openChat();
    const turn = await chat.run('Hello');
    expect(turn).toMatchObject({ outcome: 'failed', failure: 'model_unreachable' });
    expect(turn.error).toMatch(/It says: Network request failed/);
    const state = path.join(stage.home, '.cursor/sdk', chat.id);
    expect(existsSync(path.join(state, 'index.db'))).toBe(true);
    const files = readdirSync(state, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    const kept = files.map(({ parentPath, name }) => readFileSync(path.join(parentPath, name), 'latin1'));
    expect(kept.filter((text) => text.includes(KEY))).toEqual([]);
    expect(chat.processes()).toEqual([]);
  });

  test('says when it does not know a conversation any more', async () => {
    const chat = stage.openChat();
    const folder = path.join(stage.home, '.replica/engine/conversations');
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, `${chat.id}.json`), '{"agent":"cursor","id":"agent-forgotten"}');
    const turn = await chat.run('Hello');
    expect(turn.deltas).toEqual([{ type: 'notice', text: expect.stringMatching(/not on the disk/) }]);
    expect(turn).toMatchObject({ outcome: 'failed', failure: 'model_unreachable' });
  });
});

test('what is used of the SDK is what its own declarations say', async () => {
  const sdk = path.join(agentPrograms('cursor'), 'node_modules/@cursor/sdk/dist/esm');
  const folder = mkdtempSync(path.join(tmpdir(), 'cursor-types-'));
  try {
    writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(
      path.join(folder, 'check.ts'),
      `import type { CursorSdk } from '${root}/src/engine/agents/cursor/cursor-sdk.ts';
       import { Agent, Cursor } from '${sdk}/index.js';
       import { SqliteLocalAgentStore } from '${sdk}/sqlite.js';
       export const used: CursorSdk<SqliteLocalAgentStore> = { Agent, Cursor, SqliteLocalAgentStore };`,
    );
    const options = [
      '--ignoreConfig',
      '--noEmit',
      '--skipLibCheck',
      '--strict',
      '--allowImportingTsExtensions',
    ];
    const shape = ['--target', 'es2024', '--module', 'nodenext', '--types', 'node'];
    const types = ['--typeRoots', path.join(root, 'node_modules/@types')];
    const checking = promisify(execFile)(path.join(root, 'node_modules/.bin/tsc'), [
      ...options,
      ...shape,
      ...types,
      path.join(folder, 'check.ts'),
    ]);
    const complaints = await checking.then(
      ({ stdout }) => stdout,
      (error: Error & { stdout?: string }) => error.stdout || String(error),
    );
    expect(complaints).toBe('');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
