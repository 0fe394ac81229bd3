import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** A server on which tests may make databases. */
    serverUrl: string;
    /** A migrated database to copy from. */
    templateName: string;
  }
}

/** A database of one's own with all migrations applied; copied from a template in a few milliseconds. */
export async function createDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const serverUrl = inject('serverUrl');
  const name = `test_${randomBytes(8).toString('hex')}`;
  await onServer(serverUrl, `create database ${name} template ${inject('templateName')}`);
  return {
    url: withDatabase(serverUrl, name),
    drop: () => onServer(serverUrl, `drop database if exists ${name} with (force)`),
  };
}

export function withDatabase(serverUrl: string, name: string): string {
  const [before = '', query] = serverUrl.split('?');
  return `${before.replace(/\/[^/]*$/, `/${name}`)}${query ? `?${query}` : ''}`;
}

export async function onServer(serverUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
