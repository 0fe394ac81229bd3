import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { type Config, loadConfig } from '../config.ts';
import { CommandError } from './error.ts';
import { readSession } from './session.ts';

const bootstrapFile = z.object({
  base_url: z.string(),
  api_key: z.string(),
  admin: z.object({ email: z.string(), password: z.string() }),
});

export type ConnectionOptions = { server?: string; authKey?: string };

export function withConnectionOptions(command: Command): Command {
  return command
    .option(
      '--server <url>',
      'address of the service (default: REPLICA_BASE_URL, the login, or bootstrap.json)',
    )
    .option('--auth-key <key>', 'API key (default: REPLICA_API_KEY or bootstrap.json)');
}

/** Where the service is: what was said, else where one signed in, else what the first start here wrote down. */
export function findBaseUrl(options: ConnectionOptions): string {
  const config = loadConfig(process.env);
  const url = options.server ?? config.baseUrl ?? readSession()?.baseUrl ?? readBootstrap(config)?.base_url;
  return url?.replace(/\/+$/, '') ?? `http://${config.host}:${config.port}`;
}

export function findApiKey(options: ConnectionOptions, baseUrl: string): string {
  const config = loadConfig(process.env);
  const key = options.authKey ?? config.apiKey ?? findBootstrap(config, baseUrl)?.api_key;
  if (!key) throw new CommandError('no API key: pass --auth-key, or set REPLICA_API_KEY.');
  return key;
}

/** What the first start here wrote down, for the service of this machine alone: no other one is to see it. */
export function findBootstrap(config: Config, baseUrl: string): z.output<typeof bootstrapFile> | null {
  const bootstrap = readBootstrap(config);
  const own = [bootstrap?.base_url, `http://${config.host}:${config.port}`];
  return own.includes(baseUrl) ? bootstrap : null;
}

function readBootstrap(config: Config): z.output<typeof bootstrapFile> | null {
  try {
    return bootstrapFile.parse(JSON.parse(readFileSync(path.join(config.dataDir, 'bootstrap.json'), 'utf8')));
  } catch {
    // Absent, unreadable or not ours: then it is no source of a key.
    return null;
  }
}
