import type { EngineContext } from './context.ts';

/**
 * The environment of the engine's own git: the user's, which leads it to the gateway, without variables that would make
 * it look at other files than it is told to.
 */
export function gitEnvironment(context: EngineContext): Record<string, string> {
  const kept = Object.entries(context.childEnvironment()).filter(
    ([name]) => !name.startsWith('GIT_') || configuration.test(name),
  );
  return {
    ...Object.fromEntries(kept),
    // The words of its errors are looked at.
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    GIT_NO_LAZY_FETCH: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    // Looking at a repository never writes its index, which the agent may be using.
    GIT_OPTIONAL_LOCKS: '0',
  };
}

const configuration = /^GIT_(CONFIG|SSL|HTTP)_/;

/** Settings for git on a repository whose configuration anybody may have written: it starts no program of theirs. */
export const safeSettings: readonly string[] = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.safecrlf=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'submodule.recurse=false',
  // Memory is small: larger files are streamed, packs are mapped in parts.
  'core.bigFileThreshold=16m',
  'core.packedGitWindowSize=16m',
  'core.packedGitLimit=128m',
  'pack.threads=1',
  'pack.windowMemory=32m',
].flatMap((setting) => ['-c', setting]);
