import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { v7 as newId } from 'uuid';
import { engineVariables } from '../../src/engine/place.ts';
import { type EngineInfo, engineInfo } from '../../src/engine/protocol.ts';
import type { Driver, SandboxSpec } from '../../src/runtime/driver.ts';

const SECRET = 'engine-secret-of-this-test';
const ANSWER_LIMIT_MS = 20_000;

/** What every sandbox here is started with: small enough for several at once. */
export function specOf(key: string, layers: string[] = [], incarnation = 1): SandboxSpec {
  return {
    limits: { cpus: 1, memoryMiB: 512, diskMiB: 256, processes: 256 },
    layers,
    engineEnvironment: {
      [engineVariables.secret]: SECRET,
      [engineVariables.sandboxId]: key,
      [engineVariables.incarnation]: String(incarnation),
    },
  };
}

/** Asks the engine who it is, again and again while it is starting. */
export async function engineOf(driver: Driver, key: string): Promise<EngineInfo> {
  const deadline = performance.now() + ANSWER_LIMIT_MS;
  for (;;) {
    try {
      return engineInfo.parse(JSON.parse((await call(driver, key, { method: 'GET', path: '/' })).body));
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(20);
    }
  }
}

/** Puts a file of one word into the home of a running sandbox. */
export async function putFile(driver: Driver, key: string, name: string, word: string): Promise<void> {
  await engineOf(driver, key);
  await readTerminal(driver, key, await runInside(driver, key, `echo ${word} > ~/${name}`));
}

/** What a file in the home of a running sandbox holds. */
export async function readFile(driver: Driver, key: string, name: string): Promise<string> {
  await engineOf(driver, key);
  return (await readTerminal(driver, key, await runInside(driver, key, `cat ~/${name}`))).trim();
}

/** Starts a command in a terminal and gives the terminal's id. */
export async function runInside(driver: Driver, key: string, command: string): Promise<string> {
  const id = newId();
  const { status, body } = await call(driver, key, {
    method: 'POST',
    path: '/terminals',
    body: { id, cols: 80, rows: 24, command },
  });
  if (status !== 201) throw new Error(`the terminal was answered with ${status}: ${body}`);
  return id;
}

async function readTerminal(driver: Driver, key: string, id: string): Promise<string> {
  const { body } = await call(driver, key, { method: 'GET', path: `/terminals/${id}/stream?offset=0` });
  await call(driver, key, { method: 'DELETE', path: `/terminals/${id}` });
  return body;
}

async function call(
  driver: Driver,
  key: string,
  { method, path, body }: { method: string; path: string; body?: unknown },
): Promise<{ status: number; body: string }> {
  const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
  const stream = await driver.connect(key, 'engine', signal);
  const outgoing = request({
    method,
    path,
    signal,
    createConnection: () => stream,
    headers: { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json', connection: 'close' },
  });
  outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  try {
    const [answer] = await once(outgoing, 'response');
    return { status: answer.statusCode, body: await text(answer) };
  } finally {
    stream.destroy();
  }
}
