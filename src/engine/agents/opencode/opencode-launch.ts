import path from 'node:path';
import type { SessionSpec } from '../agent.ts';

/** How opencode is started, with a configuration that is secret. */
export function opencodeLaunch(
  { programs, environment }: Pick<SessionSpec, 'programs' | 'environment'>,
  { config, database, architecture }: { config: string; database: string; architecture: string },
): { program: string; environment: Record<string, string> } {
  const packages = path.join(programs, 'node_modules');
  const searchFolder = path.join(packages, '@vscode', `ripgrep-linux-${architecture}`, 'bin');
  return {
    program: path.join(packages, `opencode-linux-${architecture}`, 'bin', 'opencode'),
    environment: {
      ...environment,
      // It searches files with another program, which it would fetch if it were not found.
      PATH: [environment.PATH, searchFolder].filter(Boolean).join(':'),
      OPENCODE_CONFIG_CONTENT: config,
      OPENCODE_DB: database,
      // Its index of file names, which only its screen needs, leaves a library behind in /tmp at every start.
      OPENCODE_DISABLE_FFF: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
    },
  };
}
