import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { spawnAgent } from '../../src/engine/agents/spawn-agent.ts';

test.each([
  ['is not there', '/nowhere/claude', {}, 'it is not installed (ENOENT)'],
  ['is below a file', '/bin/sh/claude', {}, 'the system refuses it (ENOTDIR)'],
  ['is a folder', '/etc', {}, 'it may not be run (EACCES)'],
  [
    'is given too much',
    '/bin/sh',
    { LONG: 'x'.repeat(200_000) },
    'the variables and MCP servers of the environment are too long for it (E2BIG)',
  ],
])('a program that %s fails with a sentence', async (_name, program, environment, reason) => {
  const started = spawnAgent({ program, args: [], folder: tmpdir(), environment });
  await expect(started).rejects.toMatchObject({
    kind: 'agent_died',
    message: `The agent's program cannot be started: ${reason}.`,
  });
});

test('a process without a descriptor left fails to start one, and goes on', async () => {
  const script = `
    import { closeSync, openSync } from 'node:fs';
    import { spawnAgent } from ${JSON.stringify(path.resolve('src/engine/agents/spawn-agent.ts'))};
    const taken = [];
    try {
      for (;;) taken.push(openSync('/dev/null'));
    } catch {}
    const failure = await spawnAgent({ program: '/bin/true', args: [], folder: '/', environment: {} })
      .catch(({ message }) => message);
    for (const descriptor of taken) closeSync(descriptor);
    process.stdout.write(String(failure));
  `;
  const command = 'ulimit -n 100; exec "$0" --input-type=module -e "$1"';
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command, process.execPath, script]);
  expect(stdout).toBe(
    "The agent's program cannot be started: the workspace has too many files open (EMFILE).",
  );
});
