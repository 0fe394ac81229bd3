import { join } from 'node:path';
import type { EngineContext } from './context.ts';
import { gitEnvironment, safeSettings } from './git-environment.ts';
import { type GitRun, runGit } from './git-process.ts';

type GitOptions = Pick<GitRun, 'input' | 'take'> & {
  /** An index other than the repository's own. */
  indexFile?: string;
  environment?: Record<string, string>;
};

/** git on one repository. */
export type GitFolder = {
  folder: string;
  run(args: string[], options?: GitOptions): Promise<Buffer>;
  /** The output as text, without the line's end. */
  line(args: string[], options?: GitOptions): Promise<string>;
};

/**
 * Nothing is looked for: where the agent removed `.git`, git must not find a repository further up. What a repository's
 * own configuration could start is switched off.
 */
export function openGitFolder(options: {
  context: EngineContext;
  folder: string;
  signal: AbortSignal;
}): GitFolder {
  const { context, folder, signal } = options;
  const place = [`--git-dir=${join(folder, '.git')}`, `--work-tree=${folder}`];

  async function run(args: string[], { indexFile, environment, ...rest }: GitOptions = {}): Promise<Buffer> {
    const env = { ...gitEnvironment(context), ...environment };
    if (indexFile !== undefined) env.GIT_INDEX_FILE = indexFile;
    return runGit({ args: [...place, ...safeSettings, ...args], cwd: folder, env, signal, ...rest });
  }

  return { folder, run, line: async (args, rest) => (await run(args, rest)).toString().replace(/\n$/, '') };
}
