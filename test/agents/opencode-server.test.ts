import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { startOpencodeServer } from '../../src/engine/agents/opencode/opencode-server.ts';

/** Starts a shell script in the place of the program: `$5` is the port. */
function start(script: string | null, signal = AbortSignal.timeout(20_000)) {
  const folder = mkdtempSync(path.join(tmpdir(), 'opencode-server-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const program = path.join(folder, 'program');
  if (script !== null) {
    writeFileSync(program, `#!/bin/sh\n${script}\n`);
    chmodSync(program, 0o755);
  }
  const environment = { PATH: process.env.PATH ?? '' };
  return { folder, started: startOpencodeServer({ program, folder, environment }, signal) };
}

const isAlive = (pid: number) => existsSync(`/proc/${pid}/cwd`);
const LISTENS = 'echo "opencode server listening on http://127.0.0.1:$5"';

describe('a server of opencode', () => {
  test('is there when it says that it listens, and ends when it is asked to', async () => {
    const server = await start(`${LISTENS}; exec sleep 1000`).started;
    expect(isAlive(server.pid)).toBe(true);
    await server.close();
    await server.ended;
    expect(isAlive(server.pid)).toBe(false);
  });

  test('is killed with its group when it does not end', async () => {
    const { folder, started } = start(
      `trap '' TERM; ${LISTENS}; (sleep 1000 & echo $! > pid.new; mv pid.new pid); sleep 1000`,
    );
    const server = await started;
    await vi.waitFor(() => expect(existsSync(path.join(folder, 'pid'))).toBe(true), { timeout: 10_000 });
    await server.close();
    const pids = [server.pid, Number(readFileSync(path.join(folder, 'pid'), 'utf8'))];
    await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), { timeout: 5_000 });
  });

  test.each([
    [null, /cannot be started: it is not installed \(ENOENT\)/],
    [
      "printf '\\033[91mError: \\033[0mIt is\\n  late'; exit 1",
      /did not start\. It says: Error: It is late$/,
    ],
    ['exit 0', /did not start\.$/],
  ])('that is %j fails with a sentence', async (script, message) => {
    await expect(start(script).started).rejects.toMatchObject({
      kind: 'agent_died',
      message: expect.stringMatching(message),
    });
  });

  test('gets another port when its own was taken meanwhile', async () => {
    const isFirst =
      '[ -e tried ] || { echo $5 > tried; echo "Failed to start server. Is port $5 in use?"; exit 1; }';
    const { folder, started } = start(`${isFirst}; ${LISTENS}; exec sleep 1000`);
    const server = await started;
    expect(server.port).not.toBe(Number(readFileSync(path.join(folder, 'tried'), 'utf8')));
    await server.close();
  });

  test('that is not wanted any more is ended in the middle of its start', async () => {
    const stopping = new AbortController();
    const { folder, started } = start('echo $$ > pid; exec sleep 1000', stopping.signal);
    await vi.waitFor(() => expect(existsSync(path.join(folder, 'pid'))).toBe(true), { timeout: 10_000 });
    stopping.abort(new Error('not wanted'));
    await expect(started).rejects.toThrow('not wanted');
  });
});
