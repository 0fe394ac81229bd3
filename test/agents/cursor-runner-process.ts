import { runCursor } from '../../src/engine/agents/cursor/cursor-runner.ts';

/** The runner alone, which starts faster than as a part of the whole engine. */
await runCursor();
