import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../src/db/embedded/start.ts';
import { migrate } from '../../src/db/migrate.ts';
import { migrateWork } from '../../src/work/migrate.ts';
import { onServer, withDatabase } from '../world/database.ts';

const templateName = 'replica_template';

/**
 * One PostgreSQL for the whole run: the embedded one, or the server of REPLICA_TEST_DATABASE_URL. It need
 * not survive a power cut, so it does not wait for the disk; the tests that kill start servers of their own.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await using starting = new AsyncDisposableStack();
  const given = process.env.REPLICA_TEST_DATABASE_URL;
  const url = given ?? (await startOwnServer(starting));
  await onServer(url, `drop database if exists ${templateName} with (force)`);
  await onServer(url, `create database ${templateName}`);
  const pool = new pg.Pool({ connectionString: withDatabase(url, templateName) });
  await migrate(pool);
  await migrateWork(pool, pino({ level: 'silent' }));
  await pool.end();
  project.provide('serverUrl', url);
  project.provide('templateName', templateName);
  const running = starting.move();
  return () => running.disposeAsync();
}

async function startOwnServer(starting: AsyncDisposableStack): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'replica-test-'));
  starting.defer(() => rmSync(folder, { recursive: true, force: true }));
  const settings = {
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_connections: '400',
  };
  const server = await startEmbeddedPostgres({ dataDir: folder, settings });
  starting.defer(() => server.stop());
  return server.connectionString;
}
