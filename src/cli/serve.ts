import path from 'node:path';
import { Command } from 'commander';
import { type Config, loadConfig, unknownVariables } from '../config.ts';
import { createLog } from '../lib/log.ts';
import type { Service } from '../main.ts';

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
      const { startService } = await import('../main.ts');
      const service = await startService({ config, log, onProgress: (line) => console.error(line) });
      console.log(welcome(service, config, performance.now() - started));
      await runUntilSignalled(service);
    });
}

/** Drains on the first signal; a second one ends the process at once. */
async function runUntilSignalled(service: Service): Promise<void> {
  const signal = await new Promise<NodeJS.Signals>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, resolve);
  });
  const giveUp = () => process.exit(1);
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, giveUp);
  console.error(`${signal}: finishing what is in work, then stopping. Signal again to stop at once.`);
  await service.stop();
  process.exit(0);
}

function welcome({ baseUrl, firstStart }: Service, config: Config, startMs: number): string {
  const file = path.relative(process.cwd(), path.join(config.dataDir, 'bootstrap.json')) || 'bootstrap.json';
  const credentials = firstStart
    ? `
First start: these are shown once and kept in ${file} (mode 0600).

  organization  ${firstStart.organizationId}
  API key       ${firstStart.apiKey}
  admin         ${firstStart.admin.email}
  password      ${firstStart.admin.password}
`
    : '';
  return `
Replica Service answers at ${baseUrl} (started in ${Math.round(startMs)} ms).
${credentials}
Try next, in another terminal:

  export KEY=$(node -p 'require("${path.resolve(file)}").api_key')
  curl -H "Authorization: Bearer $KEY" ${baseUrl}/v1/environments
  curl -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
    -d '{"name":"my-first"}' ${baseUrl}/v1/environments

  ${baseUrl}/reference     every operation, to browse
  bin/replica.js api       the same operations from the command line

Stop with Ctrl-C.
`;
}
