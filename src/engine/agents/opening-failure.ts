import { placementProblem } from '../home-folder.ts';
import { AgentFailure } from './agent.ts';

/** What an agent's opening has failed with; trouble of the disk, which the user can do something about, as a sentence. */
export function openingFailure(error: unknown): unknown {
  const isFailure = error instanceof AgentFailure || !(error instanceof Error);
  const reason = isFailure ? null : reasonOf(error);
  return reason === null
    ? error
    : new AgentFailure(`The agent cannot be started: ${reason}.`, { cause: error });
}

function reasonOf(error: NodeJS.ErrnoException): string | null {
  if (fullDisk.has(error.code ?? '')) return 'the disk of the workspace is full; make room on it';
  const problem = placementProblem(error);
  if (problem === null) return null;
  const place = error.path === undefined ? 'one of its files' : error.path;
  return `${place} cannot be used, because ${problem}`;
}

const fullDisk = new Set(['ENOSPC', 'EDQUOT']);
