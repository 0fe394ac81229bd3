import { Command } from 'commander';
import { ApiError } from '../client/client.ts';
import { version } from '../lib/version.ts';
import { agentsCommand } from './agents.ts';
import { apiCommand } from './api.ts';
import { baseCommand } from './base.ts';
import { configCommand } from './config.ts';
import { doctorCommand } from './doctor.ts';
import { keysCommand } from './keys.ts';
import { loginCommand } from './login.ts';
import { migrateCommand } from './migrate.ts';
import { secretsCommand } from './secrets.ts';
import { serveCommand } from './serve.ts';

/** Errors whose message is already the one line an operator needs. By name, so that no part is loaded for it. */
const plain = new Set([
  'BaseBuildError',
  'CommandError',
  'ConfigError',
  'DatabaseUnreachableError',
  'EmbeddedPostgresError',
  'FolderLockedError',
  'FolderUnusableError',
  'KeyRingError',
  'MigrationError',
  'RuntimeRefusedError',
  'SealError',
]);

export async function run(): Promise<void> {
  const program = new Command('replica')
    .description('Runs AI coding agents in workspaces on your own machines.')
    .version(version)
    .showHelpAfterError('Add --help to see what this command takes.')
    .addCommand(serveCommand())
    .addCommand(doctorCommand())
    .addCommand(agentsCommand())
    .addCommand(baseCommand())
    .addCommand(configCommand())
    .addCommand(migrateCommand())
    .addCommand(secretsCommand())
    .addCommand(loginCommand())
    .addCommand(keysCommand())
    .addCommand(apiCommand());
  try {
    await program.parseAsync();
  } catch (error) {
    console.error(`replica: ${explain(error)}`);
    process.exitCode = 1;
  }
}

function explain(error: unknown): string {
  if (error instanceof ApiError) {
    const details = error.details && !error.message.includes(error.details) ? `\n  ${error.details}` : '';
    return `${error.message} (${error.status} ${error.code})${details}`;
  }
  if (error instanceof Error && plain.has(error.name)) return error.message;
  const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
  if (cause?.code === 'ECONNREFUSED') return 'the service does not answer there; is "script/server" running?';
  if (!(error instanceof Error)) return String(error);
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  const remedy =
    remedies[code] ?? (syscall === 'mkdir' ? 'choose another folder with REPLICA_DATA_DIR' : null);
  return remedy ? `${error.message}: ${remedy}.` : (error.stack ?? error.message);
}

/** What helps when the operating system refuses what a setting asks for. */
const remedies: Record<string, string> = {
  EADDRINUSE: 'choose another port with REPLICA_PORT',
  EADDRNOTAVAIL: 'choose an address of this machine with REPLICA_HOST',
  ENOTFOUND: 'choose an address of this machine with REPLICA_HOST',
};
