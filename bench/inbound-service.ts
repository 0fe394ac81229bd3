import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { openDatabase } from '../src/db/database.ts';
import { startEmbeddedPostgres } from '../src/db/embedded/start.ts';
import { freePort, startProgram } from './processes.ts';

/** One process of the service with a database of its own, in which automations can be made but nothing real runs. */
export async function startInboundService() {
  await using starting = new AsyncDisposableStack();
  const folder = mkdtempSync(path.join(tmpdir(), 'replica-bench-'));
  starting.defer(() => rmSync(folder, { recursive: true, force: true }));
  const databaseDir = path.join(folder, 'database');
  const server = await startEmbeddedPostgres({ dataDir: databaseDir });
  starting.defer(() => server.stop());
  const dataDir = path.join(folder, 'service');
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const service = await startProgram({
    args: ['src/cli/main.ts', 'serve'],
    environment: {
      DATABASE_URL: server.connectionString,
      REPLICA_DATA_DIR: dataDir,
      REPLICA_PORT: String(port),
      REPLICA_RUNTIME: 'fake',
      REPLICA_WARM_POOL_SIZE: '0',
      REPLICA_RATE_LIMIT_BURST: '10000000',
      REPLICA_LOG_LEVEL: 'warn',
    },
    readyUrl: `${baseUrl}/readyz`,
  });
  starting.defer(() => service.stop());
  const log = pino({ level: 'silent' });
  const { db, pool, close } = openDatabase({ url: server.connectionString, poolSize: 2, log });
  starting.defer(close);
  const { api_key: key, organization_id: organizationId } = JSON.parse(
    readFileSync(path.join(dataDir, 'bootstrap.json'), 'utf8'),
  );

  async function call(method: string, route: string, body?: object) {
    const answer = await fetch(`${baseUrl}${route}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${route} → ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  const { environment } = (await call('GET', '/v1/environments/global')) as { environment: { id: string } };
  const everything = starting.move();
  return {
    baseUrl,
    db,
    pool,
    call,
    organizationId: organizationId as string,
    environmentId: environment.id,
    pid: service.child.pid ?? 0,
    databasePid: Number.parseInt(readFileSync(path.join(databaseDir, 'postgres/postmaster.pid'), 'utf8'), 10),
    close: () => everything.disposeAsync(),
  };
}
