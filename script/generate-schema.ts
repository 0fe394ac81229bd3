/**
 * Writes src/db/schema.ts from a migrated database: `node script/generate-schema.ts <empty database's URL> [file]`.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import pg from 'pg';
import { migrate } from '../src/db/migrate.ts';

const [url, file = path.resolve(import.meta.dirname, '../src/db/schema.ts')] = process.argv.slice(2);
if (!url) throw new Error('usage: node script/generate-schema.ts <database url> [file]');

const pool = new pg.Pool({ connectionString: url });
await migrate(pool);
await pool.end();
const generator = path.resolve(import.meta.dirname, '../node_modules/.bin/kysely-codegen');
const options = [
  '--dialect',
  'postgres',
  '--url',
  url,
  '--out-file',
  file,
  '--log-level',
  'error',
  '--exclude-pattern',
  'graphile_worker.*',
];
const run = spawnSync(generator, options, { stdio: 'inherit' });
process.exitCode = run.status ?? 1;
