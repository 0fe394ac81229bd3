import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { superviseEmbeddedPostgres } from '../../src/db/embedded/supervise.ts';

test('a watch that cannot look ends neither the server nor itself', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'replica-watch-'));
  const [home, dataDir] = [join(folder, 'home'), join(folder, 'data')];
  mkdirSync(home);
  symlinkSync(home, dataDir);
  let lines = '';
  const write = (line: string) => {
    lines += line;
  };
  const log = pino({}, { write });
  const said = (text: string) => expect.poll(() => lines, { timeout: 20_000 }).toContain(text);
  const server = await superviseEmbeddedPostgres({ dataDir, log });
  try {
    const pid = Number.parseInt(readFileSync(join(home, 'postgres/postmaster.pid'), 'utf8'), 10);
    // A link to itself can be followed by nobody.
    rmSync(dataDir);
    symlinkSync(dataDir, dataDir);
    await said('database.watch_failed');
    await connectTo(server.connectionString);
    rmSync(dataDir);
    symlinkSync(home, dataDir);
    process.kill(pid, 'SIGKILL');
    await said('database.gone');
    await expect.poll(() => lines.match(/database\.started/g), { timeout: 20_000 }).toHaveLength(2);
    await connectTo(server.connectionString);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}, 60_000);

async function connectTo(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.end();
}
