import { writeHomeFile } from './home-file.ts';
import { homeParts, placementProblem } from './home-folder.ts';
import type { BootPlan } from './protocol.ts';

export type PlacedFiles = { written: string[]; warnings: string[] };

/** Places the files of the environment. One that cannot be placed is a warning; a full disk is an error. */
export function placeFiles(home: string, files: BootPlan['files']): PlacedFiles {
  const written: string[] = [];
  const warnings: string[] = [];
  for (const { path, contentBase64 } of files) {
    try {
      const parts = homeParts(path);
      writeHomeFile({ home, parts, content: Buffer.from(contentBase64, 'base64'), mode: fileMode(parts) });
      written.push(path);
    } catch (error) {
      const problem = placementProblem(error);
      if (problem === null) throw error;
      warnings.push(`The file ${path} was not written: ${problem}.`);
    }
  }
  return { written, warnings };
}

/** Whether a file stands in a repository's folder, where it can only come after the clone. */
export function isInWorkspaces(path: string): boolean {
  return path.startsWith('~/workspaces/');
}

const secretFolders = new Set(['.ssh', '.gnupg', '.aws', '.azure', '.kube', '.docker']);
const secretNames =
  /^(\.netrc|\.npmrc|\.yarnrc\.yml|\.pypirc|\.pgpass|\.my\.cnf|\.git-credentials|\.env(\..+)?|id_[a-z0-9]+|credentials(\..+)?|.+\.(pem|key|p12|pfx))$/;

/** Programs such as ssh refuse secrets others can read; the rest is readable for services with a user of their own. */
export function fileMode(parts: readonly string[]): number {
  const isSecret =
    parts.slice(0, -1).some((part) => secretFolders.has(part)) || secretNames.test(parts.at(-1) ?? '');
  return isSecret ? 0o600 : 0o644;
}
