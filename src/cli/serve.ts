import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { type Config, loadConfig, unknownVariables } from '../config.ts';
import { createLog } from '../lib/log.ts';
import type { Service } from '../main.ts';

const STOP_LIMIT_MS = 60_000;

export function serveCommand(): Command {
  return new Command('serve')
    .description('Start the service. Settings are environment variables; "replica config" lists them.')
    .action(async () => {
      const config = loadConfig(process.env);
      for (const name of unknownVariables(process.env)) {
        console.error(`replica: ${name} is not a setting; "replica config" lists them all.`);
      }
      const log = createLog(config.logLevel);
      const started = performance.now();
      const signal = onFirstSignal();
      const { startService } = await import('../main.ts');
      const onProgress = (line: string) => console.error(line);
      const service = await startService({ config, log, onProgress, signal }).catch((error: unknown) => {
        if (signal.aborted) process.exit(0);
        throw error;
      });
      console.log(welcome(service, config, performance.now() - started));
      if (!signal.aborted) await once(signal, 'abort');
      // Longer than requests and jobs may take to end: what still hangs then, such as a dead disk, hangs for good.
      setTimeout(() => {
        console.error('replica: not everything could be stopped in time; it is left to the next start.');
        process.exit(1);
      }, STOP_LIMIT_MS).unref();
      await service.stop();
      process.exit(0);
    });
}

/** Aborts on the first signal, also during the start; a second one ends the process at once. */
function onFirstSignal(): AbortSignal {
  const stopping = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (stopping.signal.aborted) process.exit(1);
      console.error(`${name}: finishing what is in work, then stopping. Signal again to stop at once.`);
      stopping.abort();
    });
  }
  return stopping.signal;
}

const offlineWarning = `
*** OFFLINE MODEL: claude, codex and opencode speak to a scripted model without intelligence until the organization sets a
*** credential (PUT /v1/organization/coding-agents/{agent}). REPLICA_OFFLINE_MODEL=false switches it off.
`;

function welcome({ baseUrl, firstStart }: Service, config: Config, startMs: number): string {
  const bootstrapFile = path.join(config.dataDir, 'bootstrap.json');
  const credentials = firstStart
    ? `
First start: these are shown once and kept in ${path.relative(process.cwd(), bootstrapFile)} (mode 0600).

  organization  ${firstStart.organizationId}
  API key       ${firstStart.apiKey}
  admin         ${firstStart.admin.email}
  password      ${firstStart.admin.password}
`
    : '';
  // Of several processes on one database, only the one that came first has the file.
  const key = existsSync(bootstrapFile) ? `$(node -p 'require("${bootstrapFile}").api_key')` : 'rs_org_…';
  return `
Replica Service answers at ${baseUrl} (started in ${Math.round(startMs)} ms).
${config.offlineModel ? offlineWarning : ''}${credentials}
Try next, in another terminal:

  export KEY=${key}
  curl -H "Authorization: Bearer $KEY" ${baseUrl}/v1/environments
  curl -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
    -d '{"name":"my-first"}' ${baseUrl}/v1/environments

Every operation, to browse:      ${baseUrl}/reference
The same from the command line:  bin/replica.js api

Stop with Ctrl-C.
`;
}
