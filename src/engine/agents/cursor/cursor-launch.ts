import { CURSOR_RUNNER } from './cursor-runner.ts';

export type CursorLaunch = { program: string; args: string[]; environment: Record<string, string> };

/** The Node that runs the engine, and the engine's own script. */
export type EngineProgram = { node: string; script: string };

/**
 * How the runner is started: as the engine's own program with a word that makes it the runner. What is secret is told to
 * it later: arguments and environments can be read by everybody in the sandbox.
 */
export function cursorLaunch(
  environment: Readonly<Record<string, string>>,
  { node, script }: EngineProgram,
): CursorLaunch {
  const own = Object.entries(environment).filter(([name]) => !detours.has(name));
  return {
    program: node,
    args: ['--no-warnings', script, CURSOR_RUNNER],
    // The SDK knows nothing of proxies; what it uses of Node does, when told so.
    environment: { ...Object.fromEntries(own), NODE_USE_ENV_PROXY: '1' },
  };
}

/**
 * Variables of the workspace that would send the key elsewhere, or use another one. Those for the user's own Node could
 * keep the runner from starting; it hands them on to what it starts.
 */
const detours = new Set(['CURSOR_API_KEY', 'CURSOR_BACKEND_URL', 'CURSOR_WEBSITE_URL', 'NODE_OPTIONS']);
