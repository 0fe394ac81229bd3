import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/db/database.ts';
import { openSealer } from '../../src/main.ts';
import { wire } from '../../src/wire.ts';
import { createDatabase } from '../world/database.ts';

/** Every route of the service as it is wired, as `METHOD /path/{name}`; nothing listens. */
export async function listRoutes(): Promise<string[]> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(path.join(tmpdir(), 'replica-routes-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const own = await createDatabase();
  stack.defer(() => own.drop());
  const log = pino({ level: 'silent' });
  const config = loadConfig({ DATABASE_URL: own.url, REPLICA_DATA_DIR: folder, REPLICA_RUNTIME: 'fake' });
  const database = openDatabase({ url: own.url, poolSize: 2, log });
  stack.defer(() => database.close());
  const wired = await wire({
    config,
    log,
    database,
    sealer: openSealer(config),
    baseUrl: 'http://a.example',
  });
  stack.defer(() => wired.stop());
  await wired.app.ready();
  return parseTree(wired.app.printRoutes({ commonPrefix: false }));
}

/** Fastify prints routes as a tree, each line with what it adds to the path of the line above it. */
function parseTree(tree: string): string[] {
  const above: string[] = [];
  const routes: string[] = [];
  for (const line of tree.split('\n')) {
    const [, branches = '', added = '', methods = ''] = /^([│├└─\s]*)(\S+) \(([A-Z, ]+)\)$/u.exec(line) ?? [];
    if (added === '') continue;
    const depth = branches.length / 4 - 1;
    above.length = depth;
    above.push(added);
    const url = above.join('').replaceAll(/:(\w+)/g, '{$1}');
    // Fastify answers HEAD wherever there is GET.
    for (const method of methods.split(', ')) if (method !== 'HEAD') routes.push(`${method} ${url}`);
  }
  return routes;
}
