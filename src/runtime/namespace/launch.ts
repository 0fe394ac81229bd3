import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { bindEngineSocket, type EngineSocket } from './engine-socket.ts';
import {
  bubblewrapArguments,
  bubblewrapCommand,
  descriptors,
  idRange,
  type LaunchSpec,
  mountedPaths,
} from './launch-spec.ts';
import type { SandboxPaths } from './layout.ts';
import type { Machine } from './machine.ts';
import { findProgram, identify, isAlive, type ProcessId } from './processes.ts';
import { type ProcessRecord, writeRecord } from './records.ts';
import { programEnvironment } from './run-program.ts';
import { scriptVariables, startScript } from './start-script.ts';
import { waitUntil } from './wait-until.ts';

export type Launch = {
  paths: SandboxPaths;
  machine: Machine;
  spec: LaunchSpec;
  /** The program inside and its arguments. */
  command: readonly string[];
  /** Files through which the groups are joined. */
  groups: readonly string[];
  /** What it may take of what the whole user has; only with a user namespace around it. */
  shares: readonly string[];
  filter: Buffer;
  /** Descriptors that somebody has left open in this process. */
  inherited: readonly number[];
  secret: string | null;
};

/** The start came to nothing; the message is what the helpers of the start have said. */
export class LaunchError extends Error {
  override name = 'LaunchError';
}

/**
 * Starts the program of a sandbox whose stage is prepared, and returns when it runs. It lives on its own from then: nothing
 * of it ends with this process. Whoever calls ends what is left when this throws.
 */
export async function launch(wish: Launch, signal: AbortSignal): Promise<void> {
  const socket = await bindEngineSocket(wish.paths.folder);
  const child = spawnChecked(wish, socket);
  const said = collectText(child.stderr);
  const gone = new AbortController();
  for (const event of ['error', 'exit']) child.once(event, () => gone.abort());
  try {
    await bringUp(wish, { child, socket, signal: AbortSignal.any([signal, gone.signal]) });
  } catch (error) {
    signal.throwIfAborted();
    const reason =
      (await said()) || (error instanceof LaunchError && error.message) || 'Its helpers left without a word.';
    throw new LaunchError(reason, { cause: error });
  } finally {
    socket.discard();
    for (const stream of child.stdio) stream?.destroy();
  }
}

function spawnChecked(wish: Launch, socket: EngineSocket): ChildProcess {
  try {
    return spawnScript(wish, socket.descriptor);
  } catch (error) {
    socket.discard();
    throw error;
  }
}

function spawnScript(
  { paths, spec, command, groups, shares, inherited }: Launch,
  listening: number,
): ChildProcess {
  const script = ['sh', '-c', startScript, 'sh', ...bubblewrapCommand(spec, command)];
  const nothing = openSync('/dev/null', 'r');
  try {
    const stdio: ('ignore' | 'pipe' | number)[] = [
      'ignore',
      'ignore',
      'pipe',
      listening,
      ...Array<'pipe'>(5).fill('pipe'),
    ];
    // They would be open inside as well.
    for (const descriptor of inherited.filter((one) => one >= stdio.length)) {
      while (stdio.length < descriptor) stdio.push('ignore');
      stdio[descriptor] = nothing;
    }
    const child = spawn('unshare', [...namespaceOptions[spec.identity], ...script], {
      cwd: paths.folder,
      env: {
        ...programEnvironment,
        ...scriptVariables({ groups, shares, targets: mountedPaths(spec), mark: paths.mark }),
      },
      detached: true,
      stdio,
    });
    child.unref();
    // A helper that leaves early closes what is still written to; its end says why.
    for (const stream of child.stdio) stream?.on('error', () => undefined);
    return child;
  } finally {
    closeSync(nothing);
  }
}

async function bringUp(
  { paths, machine, spec, filter, secret }: Launch,
  { child, socket, signal }: { child: ChildProcess; socket: EngineSocket; signal: AbortSignal },
): Promise<void> {
  const pipe = (descriptor: number) => child.stdio[descriptor] as Readable & Writable;
  const monitor = child.pid === undefined ? undefined : identify(child.pid);
  if (!monitor) throw new LaunchError('The program unshare could not be started.');
  const save = (state: Pick<ProcessRecord, 'phase' | 'init' | 'engine'>) =>
    writeRecord(
      paths.process,
      { bootId: machine.bootId, monitor: idOf(monitor), secret, ...state },
      { durable: false },
    );

  await save({ phase: 'starting', init: null, engine: null });
  socket.publish();
  pipe(descriptors.arguments).end(
    bubblewrapArguments(spec)
      .map((argument) => `${argument}\0`)
      .join(''),
  );
  pipe(descriptors.seccomp).end(filter);
  pipe(descriptors.go).end('go\n');
  const init = identify(await readChildPid(pipe(descriptors.info), signal));
  if (!init) throw new LaunchError('The first process inside left at once.');
  await save({ phase: 'starting', init: idOf(init), engine: null });
  if (spec.identity === 'own_range') await writeIdMaps(init.pid);
  pipe(descriptors.mapped).end('x');
  let engine: ProcessId | null | undefined;
  const find = () => {
    engine = findProgram(init);
    return engine !== undefined;
  };
  const runs = await waitUntil(find, { timeoutMs: 20_000, signal });
  if (!runs || !isAlive(init)) throw new LaunchError('The program inside did not start.');
  await save({ phase: 'running', init: idOf(init), engine: engine ? idOf(engine) : null });
}

/** Mounts of the host that come and go are seen inside, so that a sandbox holds none of them; none goes the other way. */
const mountNamespace = ['--mount', '--propagation', 'slave'];
const namespaceOptions: Record<LaunchSpec['identity'], string[]> = {
  own_range: mountNamespace,
  service_user: ['--user', '--map-root-user', ...mountNamespace],
};

/** Bubblewrap names the first process inside as soon as it exists; it waits there for its user map. */
async function readChildPid(stream: Readable, signal: AbortSignal): Promise<number> {
  let text = '';
  const stop = () => stream.destroy();
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of stream) {
      text += String(chunk);
      // It writes in pieces, and one that nobody reads would end it.
      const pid = /"child-pid":\s*(\d+)[\s\S]*\}/.exec(text)?.[1];
      if (pid) return Number(pid);
      if (text.length > 4_096) break;
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
  throw new LaunchError('Bubblewrap did not start a process.');
}

async function writeIdMaps(pid: number): Promise<void> {
  const map = `0 ${idRange.first} ${idRange.count}`;
  for (const name of ['uid_map', 'gid_map']) await writeFile(`/proc/${pid}/${name}`, map);
}

/** What the helpers say, up to a bound, once they have said everything. */
function collectText(stream: Readable | null): () => Promise<string> {
  let text = '';
  const closed = new Promise<void>((resolve) => {
    stream?.once('close', resolve);
  });
  stream?.on('data', (chunk: Buffer) => {
    if (text.length < 4_000) text += chunk.toString();
  });
  return async () => {
    await Promise.race([closed, delay(500)]);
    return text
      .replaceAll(/[\p{C}\s]+/gu, ' ')
      .trim()
      .slice(0, 2_000);
  };
}

const idOf = ({ pid, startTime }: ProcessId): ProcessId => ({ pid, startTime });
