import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import { startEmbeddedPostgres } from '../src/db/embedded/start.ts';
import { freePort, pssMiB, startProgram } from './processes.ts';
import { median } from './samples.ts';
import { printTable } from './table.ts';

const ROUNDS = 5;
const SECONDS = 5;
const CONNECTIONS = 32;

type Load = { perSecond: number; p50: number; p99: number };

/**
 * All servers read the same row of the same database; the rounds take turns, so that all meet the same machine. Numbers
 * are medians of the rounds. The yardstick writes no log, so the service is measured without one and with it.
 */
export async function benchApi(options: string[]): Promise<void> {
  parseArgs({ args: options, options: {} });
  await using cleanup = new AsyncDisposableStack();
  const folder = mkdtempSync(path.join(tmpdir(), 'replica-bench-'));
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true }));
  const first = await measureStart(path.join(folder, 'embedded'));
  const again = await measureStart(path.join(folder, 'embedded'));

  const database = await startEmbeddedPostgres({ dataDir: path.join(folder, 'database') });
  cleanup.defer(() => database.stop());
  const dataDir = path.join(folder, 'service');
  const environment = { DATABASE_URL: database.connectionString };
  const service = await startService(dataDir, environment);
  cleanup.defer(() => service.stop());
  const { api_key: key, organization_id: organizationId } = readBootstrap(dataDir);
  const headers = { authorization: `Bearer ${key}` };
  const environmentId = await firstEnvironment(service.baseUrl, headers);
  const secretKey = readFileSync(path.join(dataDir, 'secret.key'), 'utf8').trim();
  const logging = await startService(path.join(folder, 'logging'), {
    ...environment,
    REPLICA_SECRET_KEY: secretKey,
    REPLICA_LOG_LEVEL: 'info',
  });
  cleanup.defer(() => logging.stop());
  const port = await freePort();
  const bare = await startProgram({
    args: ['bench/bare-server.ts', database.connectionString, String(port), organizationId],
    readyUrl: `http://127.0.0.1:${port}/none`,
  });
  cleanup.defer(() => bare.stop());

  const idleMiB = pssMiB(service.child.pid);
  const targets = {
    bare: { url: `http://127.0.0.1:${port}/${environmentId}` },
    service: { url: `${service.baseUrl}/v1/environments/${environmentId}`, headers },
    logging: { url: `${logging.baseUrl}/v1/environments/${environmentId}`, headers },
  };
  const rounds: Record<keyof typeof targets, Load>[] = [];
  // The first round warms all of them and does not count.
  for (let round = 0; round <= ROUNDS; round++) {
    const loads = {
      bare: await load(targets.bare),
      service: await load(targets.service),
      logging: await load(targets.logging),
    };
    if (round > 0) rounds.push(loads);
  }
  const of = (pick: (round: (typeof rounds)[number]) => number) => median(rounds.map(pick));
  printTable([
    {
      what: 'authenticated read, service',
      measured: `${of((round) => round.service.perSecond).toFixed(0)} /s`,
    },
    {
      what: 'same read, bare Fastify + pg',
      measured: `${of((round) => round.bare.perSecond).toFixed(0)} /s`,
    },
    {
      what: 'ratio',
      goal: '≥ 0.70',
      measured: of((round) => round.service.perSecond / round.bare.perSecond).toFixed(2),
    },
    {
      what: 'ratio, with a log line per request',
      measured: of((round) => round.logging.perSecond / round.bare.perSecond).toFixed(2),
    },
    {
      what: 'latency under load p50 / p99',
      measured: `${of((round) => round.service.p50)} / ${of((round) => round.service.p99)} ms`,
    },
    {
      what: 'bare latency p50 / p99',
      measured: `${of((round) => round.bare.p50)} / ${of((round) => round.bare.p99)} ms`,
    },
    { what: 'start-up, first (with initdb)', measured: `${Math.round(first)} ms` },
    { what: 'start-up, again', measured: `${Math.round(again)} ms` },
    {
      what: 'memory idle / after load (PSS)',
      measured: `${idleMiB.toFixed(0)} / ${pssMiB(service.child.pid).toFixed(0)} MiB`,
    },
    { what: 'memory bare after load (PSS)', measured: `${pssMiB(bare.child.pid).toFixed(0)} MiB` },
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
