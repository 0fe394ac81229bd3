import { CURSOR_RUNNER, runCursor } from './agents/cursor/cursor-runner.ts';
import { endProcess } from './end-process.ts';
import { startEngine } from './engine.ts';
import { createLog } from './log.ts';
import { ENGINE_LISTEN_FD } from './place.ts';
import { readSettings } from './settings.ts';

const CLOSE_MS = 3_000;

// Sandboxes have this one file, so that it is also the program of what the engine starts for itself.
await (process.argv[2] === CURSOR_RUNNER ? runCursor() : runEngine());

async function runEngine(): Promise<void> {
  const settings = readSettings(process.env);
  const log = createLog(settings.secret);

  // The sandbox ends with this process, and the control plane starts it anew: better than going on half broken.
  process.on('uncaughtException', (error) => {
    log(`ends after an error: ${error.stack ?? error}`);
    endProcess(1);
  });

  const engine = await startEngine({ settings, listenDescriptor: ENGINE_LISTEN_FD, log });

  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.once(name, () => {
      setTimeout(() => endProcess(0), CLOSE_MS);
      engine.close().finally(() => endProcess(0));
    });
  }
}
