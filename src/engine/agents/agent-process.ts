import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from './agent.ts';
import { readJsonLines } from './json-lines.ts';
import { type AgentProgram, spawnAgent } from './spawn-agent.ts';

export type AgentProcess = {
  pid: number;
  /** Writes one line; what is written to a process that has ended is lost. */
  send(message: JsonObject): void;
  /** Resolves when the process has ended and what it said before was heard. */
  ended: Promise<void>;
  /** The end of what it said to people rather than to programs; the reason when it ends by itself. */
  lastWords(): string;
  /** Asks it to end, and kills it when it does not. What it has left running in the background goes on. */
  close(): Promise<void>;
};

/**
 * Starts an agent's program that speaks JSON, one object to a line, in a session of its own. The next message is read
 * only when the one before was dealt with, so that a program that says much waits and does not fill the memory;
 * `onMessage` must therefore not wait for a later message.
 */
export async function startAgentProcess(options: AgentProgram & Listening): Promise<AgentProcess> {
  const { pid, child, exited, hasExited, end } = await spawnAgent(options);
  const lastWords = keepTail(child.stderr);
  const heard = listen(child, options);
  const ended = exited.then(() => Promise.race([heard, delay(LAST_WORDS_MS)]));
  return {
    pid,
    send: (message) => void (child.stdin.writable && child.stdin.write(`${JSON.stringify(message)}\n`)),
    ended,
    lastWords,
    async close() {
      await end();
      if (hasExited()) await ended;
    },
  };
}

type Listening = {
  onMessage(message: JsonObject): void | Promise<void>;
  log(line: string): void;
};

const MAX_LINE_BYTES = 32 * 1_048_576;
const TAIL_CHARACTERS = 4_000;
const LAST_WORDS_MS = 500;

async function listen(
  { stdout }: ChildProcessWithoutNullStreams,
  { onMessage, log }: Listening,
): Promise<void> {
  const dropped = (bytes: number) => log(`a line of an agent was dropped: it has ${bytes} bytes`);
  const note = (error: unknown) => log(`what an agent said was not dealt with: ${String(error)}`);
  try {
    for await (const message of readJsonLines(stdout, { maxBytes: MAX_LINE_BYTES, dropped }))
      await Promise.resolve(message).then(onMessage).catch(note);
  } catch (error) {
    note(error);
  }
}

function keepTail(stream: NodeJS.ReadableStream): () => string {
  let tail = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    tail = (tail + text).slice(-TAIL_CHARACTERS);
  });
  return () => tail.trim();
}
