import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import type { CodingAgent } from '../contract/message.ts';
import { makeFolder } from '../lib/make-folder.ts';
import { agentListFolder, agentNames, agentVersion, programFolder } from './catalog.ts';
import { NpmError, runNpm } from './run-npm.ts';

/** An agent's programs cannot be had; the message says why and what to do. */
export class AgentInstallError extends Error {
  override name = 'AgentInstallError';
}

type Options = {
  agent: CodingAgent;
  /** Where the programs of all agents are. */
  folder: string;
  onProgress(line: string): void;
  signal: AbortSignal;
};

const INSTALL_LIMIT_MS = 15 * 60_000;
const PROGRESS_MS = 5_000;
const BUILDING = '.installing-';

export function isInstalled(agent: CodingAgent, folder: string): boolean {
  return existsSync(path.join(folder, programFolder(agent), 'node_modules'));
}

/**
 * Installs what the lock file says of one agent, whole or not at all: it is made beside its place and then put there.
 * Two that install the same at once do it twice, and the first counts.
 */
export async function installAgent({ agent, folder, onProgress, signal }: Options): Promise<void> {
  if (isInstalled(agent, folder)) return;
  makeFolder(folder);
  // Sandboxes see the folder as another user.
  chmodSync(folder, 0o755);
  removeLeftBehind(folder);
  const building = mkdtempSync(path.join(folder, BUILDING));
  try {
    chmodSync(building, 0o755);
    for (const name of ['package.json', 'package-lock.json', ...agentNames])
      cpSync(path.join(agentListFolder, name), path.join(building, name), { recursive: true });
    onProgress(`${agent} ${agentVersion(agent)}: downloading and unpacking`);
    await unpack({ agent, building, onProgress, signal });
    if (!hasPrograms(building, agent))
      throw new AgentInstallError(
        `There are no programs of ${agent} for ${process.platform} ${process.arch}.`,
      );
    put(building, path.join(folder, programFolder(agent)));
    onProgress(`${agent} ${agentVersion(agent)}: installed`);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
}

async function unpack(options: Omit<Options, 'folder'> & { building: string }): Promise<void> {
  const { agent, building, onProgress, signal } = options;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(INSTALL_LIMIT_MS)]);
  const started = performance.now();
  const ticking = setInterval(() => {
    onProgress(`${agent}: still installing, ${Math.round((performance.now() - started) / 1000)} s`);
  }, PROGRESS_MS);
  try {
    await runNpm(['ci', `--workspace=${agent}`], { folder: building, signal: limit });
  } catch (error) {
    signal.throwIfAborted();
    throw new AgentInstallError(explain(agent, error), { cause: error });
  } finally {
    clearInterval(ticking);
  }
}

function explain(agent: CodingAgent, error: unknown): string {
  if (!(error instanceof NpmError))
    return `Installing ${agent} took longer than ${INSTALL_LIMIT_MS / 60_000} minutes.`;
  return error.code === 127
    ? `Installing ${agent} needs npm on the PATH of the service.`
    : `npm could not install ${agent}: ${error.message}`;
}

/** npm passes over what there is not for this machine, and leaves the name of the agent alone. */
function hasPrograms(building: string, agent: CodingAgent): boolean {
  const modules = path.join(building, 'node_modules');
  return existsSync(modules) && readdirSync(modules).some((name) => !name.startsWith('.') && name !== agent);
}

/** What a process that was killed has begun, once nobody can be at work on it any more. */
function removeLeftBehind(folder: string): void {
  for (const name of readdirSync(folder).filter((each) => each.startsWith(BUILDING))) {
    const left = path.join(folder, name);
    const touchedAt = statSync(left, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - touchedAt > INSTALL_LIMIT_MS * 2) rmSync(left, { recursive: true, force: true });
  }
}

function put(building: string, place: string): void {
  try {
    renameSync(building, place);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  }
}
