#!/usr/bin/env node
/**
 * The `replica` command. It is plain JavaScript that an old Node can read: the command itself is TypeScript, which
 * needs Node 24, and Node 24 comes with the project's packages.
 */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const NEEDED_MAJOR = 24;
const project = fileURLToPath(new URL('..', import.meta.url));
const main = join(project, 'src', 'cli', 'main.ts');

if (Number(process.versions.node.split('.')[0]) >= NEEDED_MAJOR) {
  await import(pathToFileURL(main).href);
} else {
  const node = findPackagedNode();
  if (node) runWith(node);
  else {
    const version = process.versions.node;
    console.error(
      `replica needs Node ${NEEDED_MAJOR} and this is ${version}: run script/bootstrap in ${project}, or install it.`,
    );
    process.exitCode = 1;
  }
}

function findPackagedNode() {
  try {
    const manifest = `node-${process.platform}-${process.arch}/package.json`;
    const node = join(dirname(createRequire(import.meta.url).resolve(manifest)), 'bin', 'node');
    return existsSync(node) ? node : undefined;
  } catch {
    return undefined;
  }
}

/** An old Node cannot replace itself by another program, so it stays in between: signals in, exit status out. */
function runWith(node) {
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']) {
    process.on(signal, () => {
      // A terminal sends these two to the child itself; a second one would mean "at once" to it.
      if ((signal === 'SIGINT' || signal === 'SIGQUIT') && hasTerminal()) return;
      child.kill(signal);
    });
  }
  child.on('error', (error) => {
    console.error(`replica cannot run ${node}: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // A signal that this process ignores, or that cannot be repeated, still shows in the status.
    process.exitCode = 128 + constants.signals[signal];
  });
}

function hasTerminal() {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
