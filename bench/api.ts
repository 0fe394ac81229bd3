import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import autocannon from 'autocannon';
import { startEmbeddedPostgres } from '../src/db/embedded/start.ts';
import { freePort, pssMiB, startProgram } from './processes.ts';

const ROUNDS = 3;
const SECONDS = 5;
const CONNECTIONS = 32;

type Load = { perSecond: number; p50: number; p99: number };

/** Both servers read the same row of the same database; the rounds take turns, so that both meet the same machine. */
export async function benchApi(): Promise<void> {
  await using cleanup = new AsyncDisposableStack();
  const folder = mkdtempSync(path.join(tmpdir(), 'replica-bench-'));
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true }));
  const first = await measureStart(path.join(folder, 'embedded'));
  const again = await measureStart(path.join(folder, 'embedded'));

  const database = await startEmbeddedPostgres({ dataDir: path.join(folder, 'database') });
  cleanup.defer(() => database.stop());
  const dataDir = path.join(folder, 'service');
  const service = await startService(dataDir, { DATABASE_URL: database.connectionString });
  cleanup.defer(() => service.stop());
  const { api_key: key, organization_id: organizationId } = readBootstrap(dataDir);
  const headers = { authorization: `Bearer ${key}` };
  const environmentId = await firstEnvironment(service.baseUrl, headers);
  const port = await freePort();
  const bare = await startProgram({
    args: ['bench/bare-server.ts', database.connectionString, String(port), organizationId],
    readyUrl: `http://127.0.0.1:${port}/none`,
  });
  cleanup.defer(() => bare.stop());

  const idleMiB = pssMiB(service.child.pid);
  const ours: Load[] = [];
  const yardstick: Load[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    yardstick.push(await load({ url: `http://127.0.0.1:${port}/${environmentId}` }));
    ours.push(await load({ url: `${service.baseUrl}/v1/environments/${environmentId}`, headers }));
  }
  const ratio = median(ours.map((one, round) => one.perSecond / (yardstick[round]?.perSecond ?? Number.NaN)));
  printTable([
    ['authenticated read, service', `${Math.round(median(ours.map((one) => one.perSecond)))} /s`, ''],
    ['same read, bare Fastify + pg', `${Math.round(median(yardstick.map((one) => one.perSecond)))} /s`, ''],
    ['ratio (median of rounds)', ratio.toFixed(2), '≥ 0.70'],
    [
      'latency under load p50 / p99',
      `${median(ours.map((one) => one.p50))} / ${median(ours.map((one) => one.p99))} ms`,
      '',
    ],
    [
      'bare latency p50 / p99',
      `${median(yardstick.map((one) => one.p50))} / ${median(yardstick.map((one) => one.p99))} ms`,
      '',
    ],
    ['start-up, first (with initdb)', `${Math.round(first)} ms`, ''],
    ['start-up, again', `${Math.round(again)} ms`, ''],
    [
      'memory idle / after load (PSS)',
      `${idleMiB.toFixed(0)} / ${pssMiB(service.child.pid).toFixed(0)} MiB`,
      '',
    ],
    ['memory bare after load (PSS)', `${pssMiB(bare.child.pid).toFixed(0)} MiB`, ''],
  ]);
}

async function startService(dataDir: string, environment: Record<string, string> = {}) {
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const program = await startProgram({
    args: ['src/cli/main.ts', 'serve'],
    environment: {
      REPLICA_DATA_DIR: dataDir,
      REPLICA_PORT: String(port),
      // Measured as it runs in production, but with a limit that this one key cannot reach.
      REPLICA_RATE_LIMIT_BURST: '10000000',
      REPLICA_LOG_LEVEL: 'warn',
      ...environment,
    },
    readyUrl: `${baseUrl}/readyz`,
  });
  return { ...program, baseUrl };
}

async function measureStart(dataDir: string): Promise<number> {
  const service = await startService(dataDir);
  await service.stop();
  return service.startMs;
}

function readBootstrap(dataDir: string): { api_key: string; organization_id: string } {
  return JSON.parse(readFileSync(path.join(dataDir, 'bootstrap.json'), 'utf8'));
}

async function firstEnvironment(baseUrl: string, headers: Record<string, string>): Promise<string> {
  const answer = await fetch(`${baseUrl}/v1/environments/global`, { headers });
  const body = (await answer.json()) as { environment: { id: string } };
  return body.environment.id;
}

async function load(target: { url: string; headers?: Record<string, string> }): Promise<Load> {
  const result = await autocannon({ ...target, connections: CONNECTIONS, duration: SECONDS });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx + result.errors} requests failed`);
  return { perSecond: result.requests.average, p50: result.latency.p50, p99: result.latency.p99 };
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function printTable(rows: string[][]): void {
  console.log(`\n${'what'.padEnd(34)}${'measured'.padEnd(22)}goal`);
  for (const [what = '', measured = '', goal = ''] of rows)
    console.log(`${what.padEnd(34)}${measured.padEnd(22)}${goal}`);
}
