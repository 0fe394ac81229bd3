import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { engineVariables, place } from '../src/engine/place.ts';
import { engineBundle } from '../src/runtime/engine-bundle.ts';
import { engineEnvironment } from '../src/runtime/namespace/launch-spec.ts';
import { engineStart, untilEngineAnswers } from './engine-start.ts';
import { pssMiB } from './processes.ts';
import { parentOf, withDescendants } from './sandbox-processes.ts';

const run = promisify(execFile);
const SOCKET_FOLDER = '/run/engine';
const SOCKET_NAME = 'engine.sock';

/**
 * Docker hands no open socket to a container, so the engine's call to listen on one is led to a path. Everything else of
 * the engine is as it is in a sandbox.
 */
const LISTEN_ON_PATH = `data:text/javascript,${encodeURIComponent(`
  const { Server } = process.getBuiltinModule('node:net');
  const { listen } = Server.prototype;
  Server.prototype.listen = function (options, ...rest) {
    const led = options?.fd === undefined ? options : { path: '${SOCKET_FOLDER}/${SOCKET_NAME}' };
    return listen.call(this, led, ...rest);
  };`)}`;

export type DockerEngine = Awaited<ReturnType<typeof prepareDockerEngine>>;

/** Whether a Docker engine answers, and not only its command is there. */
export async function hasDocker(signal: AbortSignal): Promise<boolean> {
  try {
    await run('docker', ['version', '--format', '{{.Server.Version}}'], { signal, timeout: 10_000 });
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

/** An image with nothing in it but Node, what Node is linked with, and the engine. */
export async function prepareDockerEngine(signal: AbortSignal) {
  await using preparing = new AsyncDisposableStack();
  const folder = mkdtempSync(path.join(tmpdir(), 'replica-bench-docker-'));
  preparing.defer(() => rmSync(folder, { recursive: true, force: true }));
  const tree = path.join(folder, 'tree');
  await makeTree(tree);
  const image = `replica-bench-engine-${process.pid}`;
  await importImage(tree, image);
  preparing.defer(async () => void (await run('docker', ['rmi', '--force', image]).catch(() => {})));
  const prepared = preparing.move();

  /** Runs a container until its engine answers; gives back how long that took and what it holds in memory. */
  async function time(): Promise<{ ms: number; memoryMiB: number }> {
    const { id, secret, limits, environment } = engineStart();
    const name = `replica-bench-${id}`;
    const sockets = path.join(folder, id);
    mkdirSync(sockets);
    const { [engineVariables.secret]: _secret, ...variables } = engineEnvironment(environment, {
      compileCache: false,
    });
    const began = performance.now();
    try {
      await run(
        'docker',
        [
          ...['run', '--detach', '--rm', '--name', name, '--network', 'none'],
          ...['--cpus', String(limits.cpus), '--memory', `${limits.memoryMiB}m`],
          ...['--pids-limit', String(limits.processes), '--volume', `${sockets}:${SOCKET_FOLDER}`],
          ...Object.entries(variables).flatMap(([variable, value]) => ['--env', `${variable}=${value}`]),
          // Without its value, which Docker then takes from its own environment: everybody can read arguments.
          ...['--env', engineVariables.secret],
          ...[image, place.node, '--import', LISTEN_ON_PATH, place.engineBundle],
        ],
        { signal, env: { ...process.env, [engineVariables.secret]: secret } },
      );
      await untilEngineAnswers((limit) => connectTo(path.join(sockets, SOCKET_NAME), limit), {
        secret,
        signal,
      });
      const ms = performance.now() - began;
      return { ms, memoryMiB: await memoryOf(name) };
    } finally {
      await run('docker', ['rm', '--force', name]).catch(() => {});
    }
  }

  return { time, [Symbol.asyncDispose]: () => prepared.disposeAsync() };
}

async function makeTree(tree: string): Promise<void> {
  const copies: Record<string, string> = {
    [place.node]: process.execPath,
    [place.engineBundle]: engineBundle().bundle,
  };
  const { stdout } = await run('ldd', [process.execPath]);
  for (const library of stdout.match(/\/\S+/g) ?? []) copies[library] = library;
  for (const [inside, outside] of Object.entries(copies)) {
    const target = path.join(tree, inside);
    mkdirSync(path.dirname(target), { recursive: true });
    copyFileSync(outside, target);
  }
  chmodSync(path.join(tree, place.node), 0o755);
  for (const name of [place.home, place.gatewayFolder, SOCKET_FOLDER, '/tmp', '/etc'])
    mkdirSync(path.join(tree, name), { recursive: true });
  writeFileSync(path.join(tree, 'etc/passwd'), `root:x:0:0:root:${place.home}:/bin/sh\n`);
}

async function importImage(tree: string, image: string): Promise<void> {
  const pack = spawn('tar', ['-C', tree, '-c', '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const load = spawn('docker', ['import', '-', image], { stdio: [pack.stdout, 'ignore', 'inherit'] });
  const [[packed], [loaded]] = await Promise.all([once(pack, 'exit'), once(load, 'exit')]);
  if (packed !== 0 || loaded !== 0) throw new Error('docker does not take the image');
}

async function connectTo(file: string, signal: AbortSignal) {
  const socket = connect(file);
  await once(socket, 'connect', { signal });
  return socket;
}

/** Of the engine and of the process that Docker keeps beside each container, which is its parent. */
async function memoryOf(name: string): Promise<number> {
  const { stdout } = await run('docker', ['inspect', '--format', '{{.State.Pid}}', name]);
  const engine = Number(stdout);
  const parent = parentOf(engine) ?? 0;
  const pids = withDescendants(parent > 1 ? parent : engine);
  return pids.reduce((total, pid) => total + pssMiB(pid), 0);
}
