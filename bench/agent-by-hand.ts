import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { JsonObject } from '../src/engine/agents/agent.ts';
import { startAgentProcess } from '../src/engine/agents/agent-process.ts';
import { claudeLaunch } from '../src/engine/agents/claude/claude-launch.ts';
import { codexLaunch } from '../src/engine/agents/codex/codex-launch.ts';
import { createCodexRpc } from '../src/engine/agents/codex/codex-rpc.ts';
import { createOpencodeClient } from '../src/engine/agents/opencode/opencode-client.ts';
import { opencodeConfig } from '../src/engine/agents/opencode/opencode-config.ts';
import { opencodeLaunch } from '../src/engine/agents/opencode/opencode-launch.ts';
import { USUAL_MODEL } from '../src/engine/agents/opencode/opencode-model.ts';
import { startOpencodeServer } from '../src/engine/agents/opencode/opencode-server.ts';
import { agentPrograms } from '../test/world/agents-folder.ts';

export type BenchedAgent = 'claude' | 'codex' | 'opencode';

/** An agent's program without the service: a process that is told what to do and speaks to the model itself. */
export type AgentByHand = AsyncDisposable & {
  /** Resolves when the program says that it is done. */
  say(text: string): Promise<void>;
};

type Start = {
  programs: string;
  folder: string;
  environment: Record<string, string>;
  modelUrl: string;
  modelKey: string;
};
type Spoken = { say(text: string): Promise<void>; close(): Promise<void> };

const TURN_WITHIN_MS = 120_000;
const log = () => {};

/** Starts the program as the engine does, in a home of its own on this machine, on a clone of the same repository. */
export async function startByHand(
  agent: BenchedAgent,
  { modelUrl, repositoryUrl, signal }: { modelUrl: string; repositoryUrl: string; signal: AbortSignal },
): Promise<AgentByHand> {
  const home = mkdtempSync(path.join(tmpdir(), `bench-${agent}-`));
  const folder = path.join(home, 'work');
  await promisify(execFile)('git', ['clone', '-q', repositoryUrl, folder], { signal });
  const { PATH = '/usr/bin:/bin' } = process.env;
  const environment = { HOME: home, PATH, LANG: 'C.UTF-8', SHELL: '/bin/bash', NO_PROXY: '127.0.0.1' };
  const modelKey = randomUUID();
  const start = {
    programs: agentPrograms(agent),
    folder,
    environment,
    modelUrl,
    modelKey,
  };
  const { say, close } = await starters[agent](start, signal);
  return {
    say,
    async [Symbol.asyncDispose]() {
      await close();
      rmSync(home, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

const starters: Record<BenchedAgent, (start: Start, signal: AbortSignal) => Promise<Spoken>> = {
  async claude(start) {
    const turn = createTurn();
    const conversation = randomUUID();
    const isRoot = process.getuid?.() === 0;
    const agent = await startAgentProcess({
      ...claudeLaunch(start, { conversation, isResumed: false, isRoot }),
      folder: start.folder,
      log,
      onMessage: ({ type }) => void (type === 'result' && turn.end()),
    });
    const say = (text: string) =>
      turn.run(() => {
        const message = { role: 'user', content: [{ type: 'text', text }] };
        agent.send({ type: 'user', message });
      });
    return { say, close: agent.close };
  },

  async codex(start) {
    const turn = createTurn();
    const agent = await startAgentProcess({
      ...codexLaunch(start),
      folder: start.folder,
      log,
      onMessage: (message) => hear(message),
    });
    const rpc = createCodexRpc(agent);
    const hear = (message: JsonObject) =>
      message.method === undefined
        ? rpc.hear(message)
        : void (message.method === 'turn/completed' && turn.end());
    await rpc.ask('initialize', {
      clientInfo: { name: 'bench', title: 'Bench', version: '1' },
      capabilities: { experimentalApi: true },
    });
    rpc.tell('initialized');
    const { thread } = (await rpc.ask('thread/start', { cwd: start.folder })) as { thread: { id: string } };
    const say = (text: string) =>
      turn.run(async () => {
        const input = [{ type: 'text', text, text_elements: [] }];
        await rpc.ask('turn/start', { threadId: thread.id, input });
      });
    return { say, close: agent.close };
  },

  async opencode(start, signal) {
    const config = opencodeConfig({ ...start, model: USUAL_MODEL, instructions: [], mcpServers: {} });
    const database = path.join(start.folder, '..', 'bench.db');
    const launch = opencodeLaunch(start, { config, database, architecture: process.arch });
    const server = await startOpencodeServer({ ...launch, folder: start.folder }, signal);
    const client = createOpencodeClient({ ...server, log });
    const made = await client.ask({ method: 'POST', path: '/session', body: { title: 'Bench' } });
    const { id } = made as { id: string };
    const [providerID, modelID] = ['openrouter', USUAL_MODEL];
    async function say(text: string): Promise<void> {
      const body = { parts: [{ type: 'text', text }], model: { providerID, modelID } };
      await client.ask({ method: 'POST', path: `/session/${id}/message`, body, limitMs: TURN_WITHIN_MS });
    }
    return { say, close: server.close };
  },
};

/** One turn at a time: begun by us, ended by what the program says. */
function createTurn() {
  let end = () => {};
  return {
    end: () => end(),
    async run(begin: () => void | Promise<void>): Promise<void> {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const late = setTimeout(() => reject(new Error('the program takes too long')), TURN_WITHIN_MS);
      end = resolve;
      try {
        await begin();
        await promise;
      } finally {
        clearTimeout(late);
      }
    },
  };
}
