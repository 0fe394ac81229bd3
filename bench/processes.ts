import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readProcessFile } from './process-file.ts';

const root = path.resolve(import.meta.dirname, '..');

/** Starts a program of this project and waits until its URL answers; says how long that took. */
export async function startProgram(options: {
  args: string[];
  environment?: Record<string, string>;
  readyUrl: string;
}) {
  const started = performance.now();
  const child = spawn(process.execPath, options.args, {
    cwd: root,
    env: { ...process.env, ...options.environment },
    stdio: 'ignore',
  });
  while (!(await answers(options.readyUrl))) {
    if (hasEnded(child))
      throw new Error(`${options.args[0]} ended with ${child.exitCode ?? child.signalCode}`);
    await delay(5);
  }
  return { child, startMs: performance.now() - started, stop: () => stop(child) };
}

/** Memory of a process, shared pages counted by share; nothing when it has ended. */
export function pssMiB(pid: number | undefined): number {
  const rollup = pid === undefined ? '' : readProcessFile(pid, 'smaps_rollup');
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) / 1024;
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  return typeof address === 'object' && address ? address.port : 0;
}

async function answers(url: string): Promise<boolean> {
  try {
    // Any answer will do: the yardstick has no health page.
    await (await fetch(url)).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;
