import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { orAbort } from '../../or-abort.ts';
import { AgentFailure } from '../agent.ts';
import { type AgentProgram, spawnAgent } from '../spawn-agent.ts';
import { USER_NAME } from './opencode-client.ts';

export type OpencodeServer = {
  pid: number;
  port: number;
  password: string;
  /** Resolves when the process has ended. */
  ended: Promise<void>;
  /** Asks it to end, and kills it when it does not. What it has left running in the background goes on. */
  close(): Promise<void>;
};

/**
 * Starts an opencode server in a session of its own, and waits until it says that it listens: what it is asked before is
 * never answered. Its port may be taken between the look for it and the start; then there is another one.
 */
export async function startOpencodeServer(
  program: Omit<AgentProgram, 'args'>,
  signal: AbortSignal,
): Promise<OpencodeServer> {
  try {
    return await startOn(await findFreePort(), program, signal);
  } catch (error) {
    if (!(error instanceof AgentFailure && portTaken.test(error.message))) throw error;
    return startOn(await findFreePort(), program, signal);
  }
}

async function startOn(
  port: number,
  { environment, ...program }: Omit<AgentProgram, 'args'>,
  signal: AbortSignal,
): Promise<OpencodeServer> {
  // Everybody in the workspace can reach a port of the loopback address.
  const password = randomBytes(24).toString('base64url');
  const { pid, child, exited, end } = await spawnAgent({
    ...program,
    args: ['serve', '--hostname', '127.0.0.1', '--port', String(port)],
    environment: { ...environment, OPENCODE_SERVER_USERNAME: USER_NAME, OPENCODE_SERVER_PASSWORD: password },
  });
  child.stdin.end();
  const words = hearWords(child, `listening on http://127.0.0.1:${port}`);
  try {
    const isOver = exited.then(() => delay(LAST_WORDS_MS, false));
    const isLate = delay(START_MS, false, { ref: false });
    const isUp = await orAbort(Promise.race([words.said, isOver, isLate]), signal);
    if (!isUp) throw notStarted(words.last());
    return { pid, port, password, ended: exited, close: end };
  } catch (error) {
    await end();
    throw error;
  }
}

const portTaken = /EADDRINUSE|address already in use|is port \d+ in use/i;
const START_MS = 60_000;
const LAST_WORDS_MS = 200;
const TAIL_CHARACTERS = 1_000;
const PORT_TRIES = 100;
const LEAST_PORT = 20_000;
const MOST_PORT = 32_000;

/**
 * By itself opencode takes a port that somebody's own server may want. This one is below those that the system gives to
 * connections, or one of them might have it before opencode has started.
 */
async function findFreePort(): Promise<number> {
  for (let tries = 0; tries < PORT_TRIES; tries += 1) {
    const port = randomInt(LEAST_PORT, MOST_PORT);
    const probe = createServer().listen(port, '127.0.0.1');
    const isFree = await once(probe, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
  throw new AgentFailure('OpenCode finds no free port in the workspace.');
}

/** Waits for some words among what it says to people, on either stream, and keeps the end of that. */
function hearWords(
  { stdout, stderr }: ChildProcessWithoutNullStreams,
  words: string,
): { said: Promise<boolean>; last(): string } {
  const { promise: said, resolve } = Promise.withResolvers<boolean>();
  let tail = '';
  for (const stream of [stdout, stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      tail = (tail + text).slice(-TAIL_CHARACTERS);
      if (tail.includes(words)) resolve(true);
    });
  }
  return { said, last: () => tail.trim() };
}

function notStarted(words: string): AgentFailure {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the colours that it writes for terminals.
  const said = words.replaceAll(/\x1b\[[0-9;]*m/g, '').replaceAll(/\s+/g, ' ');
  return new AgentFailure(`OpenCode did not start.${said === '' ? '' : ` It says: ${said}`}`, {
    kind: 'agent_died',
  });
}
