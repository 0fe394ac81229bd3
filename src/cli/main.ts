#!/usr/bin/env node
import { Command } from 'commander';
import { ApiError } from '../client/client.ts';
import { ConfigError } from '../config.ts';
import { DatabaseUnreachableError } from '../db/database.ts';
import { EmbeddedPostgresError } from '../db/embedded/error.ts';
import { MigrationError } from '../db/migrate.ts';
import { FolderLockedError } from '../lib/folder-lock.ts';
import { version } from '../lib/version.ts';
import { KeyRingError } from '../secret/key-ring.ts';
import { SealError } from '../secret/seal.ts';
import { apiCommand } from './api.ts';
import { configCommand } from './config.ts';
import { CommandError } from './error.ts';
import { keysCommand } from './keys.ts';
import { loginCommand } from './login.ts';
import { migrateCommand } from './migrate.ts';
import { secretsCommand } from './secrets.ts';
import { serveCommand } from './serve.ts';

/** Errors whose message is already the one line an operator needs. */
const plain = [
  ConfigError,
  CommandError,
  DatabaseUnreachableError,
  EmbeddedPostgresError,
  FolderLockedError,
  KeyRingError,
  MigrationError,
  SealError,
];

const program = new Command('replica')
  .description('Runs AI coding agents in workspaces on your own machines.')
  .version(version)
  .showHelpAfterError('Add --help to see what this command takes.')
  .addCommand(serveCommand())
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

function explain(error: unknown): string {
  if (error instanceof ApiError) {
    const details = error.details && !error.message.includes(error.details) ? `\n  ${error.details}` : '';
    return `${error.message} (${error.status} ${error.code})${details}`;
  }
  if (plain.some((kind) => error instanceof kind)) return (error as Error).message;
  const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
  if (cause?.code === 'ECONNREFUSED') return 'the service does not answer there; is "script/server" running?';
  const code = (error as NodeJS.ErrnoException)?.code;
  if (code === 'EADDRINUSE') return `${(error as Error).message}: choose another port with REPLICA_PORT.`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
