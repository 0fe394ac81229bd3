import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { EngineContext } from '../../context.ts';
import { hookFolder } from '../../hooks.ts';
import { killProcesses, TREE_VARIABLE } from '../../process-tree.ts';
import { AgentFailure } from '../agent.ts';

export type CommandResult = { exitCode: number; output: string; isOutputCut: boolean };

let count = 0;

/**
 * Runs a shell command as an agent does: in the work folder, with the workspace's environment. When the signal comes,
 * everything it has started is killed. What it leaves in the background, such as a server, goes on.
 */
export async function runShellCommand({
  context,
  command,
  signal,
}: {
  context: EngineContext;
  command: string;
  signal: AbortSignal;
}): Promise<CommandResult> {
  signal.throwIfAborted();
  count += 1;
  const tree = `command-${process.pid}-${count}`;
  const child = spawn('/bin/bash', ['-c', command], {
    cwd: hookFolder({ repository: null }, context),
    env: { ...context.childEnvironment(), [TREE_VARIABLE]: tree },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const output = collect([child.stdout, child.stderr]);
  const closed = once(child, 'close').catch(() => {});
  const stop = () =>
    void killProcesses({ variable: TREE_VARIABLE, value: tree, ...(child.pid && { session: child.pid }) });
  signal.addEventListener('abort', stop, { once: true });
  try {
    const [code, name] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    await Promise.race([closed, delay(lastWordsMs)]);
    signal.throwIfAborted();
    return { exitCode: code ?? 128 + (name ? constants.signals[name] : 0), ...output.end() };
  } catch (error) {
    signal.throwIfAborted();
    throw new AgentFailure('The command could not be started.', { cause: error });
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** How long output is waited for after the shell's end, when something it has started goes on running. */
const lastWordsMs = 100;
const maxOutputBytes = 65_536;

function collect(streams: NodeJS.ReadableStream[]): { end(): Omit<CommandResult, 'exitCode'> } {
  const chunks: Buffer[] = [];
  let size = 0;
  for (const stream of streams) {
    stream.on('data', (chunk: Buffer) => {
      if (size < maxOutputBytes) chunks.push(chunk.subarray(0, maxOutputBytes - size));
      size += chunk.length;
    });
  }
  return {
    end() {
      for (const stream of streams) {
        // Reading goes on unheard, or what runs in the background would be ended by its own next line.
        stream.removeAllListeners('data');
        stream.resume();
        if ('unref' in stream && typeof stream.unref === 'function') stream.unref();
      }
      return { output: Buffer.concat(chunks).toString(), isOutputCut: size > maxOutputBytes };
    },
  };
}
