import { appendFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { EngineContext } from '../../context.ts';
import { writeHomeFile } from '../../home-file.ts';
import { PlacementError } from '../../home-folder.ts';
import { type Agent, AgentFailure, type AgentTurn } from '../agent.ts';
import { readSteps, type Step } from './scripted-steps.ts';
import { runShellCommand } from './shell-command.ts';

/**
 * An agent without a model, for tests and demos. It does what the message tells it literally: the steps of
 * `SCRIPT:[{"say":"…"},{"run":"…"}]`, or, without such a list, one small change that shows what a turn looks like.
 */
export const scriptedAgent: Agent = {
  name: 'scripted',
  async open({ chatId, context }) {
    return {
      id: chatId,
      fits: () => true,
      work: (turn) => work({ ...turn, context }),
      commands: [],
      pid: null,
      ended: new Promise<void>(() => {}),
      close: () => Promise.resolve(),
    };
  },
};

type ScriptedTurn = AgentTurn & { context: EngineContext };

async function work(turn: ScriptedTurn): Promise<void> {
  try {
    const steps = readSteps(turn.request.message);
    if (steps === null) await demonstrate(turn);
    else for (const step of steps) await perform(turn, step);
    turn.signal.throwIfAborted();
    await turn.message('scripted-result', { outcome: 'completed' });
  } catch (error) {
    const outcome = turn.signal.aborted ? 'interrupted' : 'failed';
    const reason = error instanceof AgentFailure ? { error: error.message } : {};
    await turn.message('scripted-result', { outcome, ...reason });
    throw error;
  }
}

async function perform(turn: ScriptedTurn, step: Step): Promise<void> {
  const { context, signal } = turn;
  signal.throwIfAborted();
  if ('say' in step) return say(turn, step.say);
  if ('fail' in step) throw new AgentFailure(step.fail);
  if ('sleepMs' in step) return delay(step.sleepMs, undefined, { signal });
  if ('run' in step) {
    await turn.delta({ type: 'tool', tool: 'run', command: step.run });
    const result = await runShellCommand({ context, command: step.run, signal });
    return turn.message('scripted-tool', { tool: 'run', command: step.run, ...result });
  }
  if ('canvas' in step) {
    const { name, content } = step.canvas;
    place(turn, { path: join(context.folder, 'canvas', name), content });
    return turn.message('scripted-tool', { tool: 'canvas', name });
  }
  place(turn, { path: resolve(context.home, 'workspaces', step.write.path), content: step.write.content });
  return turn.message('scripted-tool', { tool: 'write', path: step.write.path });
}

async function say(turn: AgentTurn, text: string): Promise<void> {
  const pieceCharacters = Math.max(1, Math.ceil(text.length / 4));
  // By whole characters: half of one cannot be stored.
  for (const piece of text.match(new RegExp(`[^]{1,${Math.min(pieceCharacters, 60_000)}}`, 'gu')) ?? [])
    await turn.delta({ type: 'text', text: piece });
  await turn.message('scripted-assistant', { text });
}

function place(
  { context: { home } }: ScriptedTurn,
  { path, content }: { path: string; content: string },
): void {
  const below = relative(home, path);
  const parts = below.split('/');
  if (below === '' || parts[0] === '..') throw new AgentFailure(`${path} is not below the home directory.`);
  try {
    writeHomeFile({ home, parts, content: Buffer.from(content), mode: 0o644 });
  } catch (error) {
    if (!(error instanceof PlacementError)) throw error;
    throw new AgentFailure(`${path} cannot be written: ${error.message}.`);
  }
}

async function demonstrate(turn: ScriptedTurn): Promise<void> {
  const { context, request } = turn;
  const [repository] = context.repositories();
  const folder = join(context.home, 'workspaces', repository?.name ?? '');
  const note = request.message.split('\n', 1)[0]?.slice(0, 200) ?? '';
  await appendFile(join(folder, 'NOTES.md'), `- ${note}\n`);
  await turn.message('scripted-tool', { tool: 'write', path: join(repository?.name ?? '', 'NOTES.md') });
  const place = repository === undefined ? 'the workspace' : `the repository ${repository.name}`;
  await say(turn, `I am the scripted agent, without a model. I added your message to NOTES.md in ${place}.`);
}
