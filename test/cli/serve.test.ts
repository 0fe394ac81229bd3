import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { ServiceFolder } from '../world/service-process.ts';
import { caller } from '../world/world.ts';

const folders: ServiceFolder[] = [];
async function newFolder(environment: Record<string, string> = {}): Promise<ServiceFolder> {
  const folder = await ServiceFolder.create(environment);
  folders.push(folder);
  return folder;
}
afterEach(async () => {
  for (const folder of folders.splice(0)) await folder.remove();
});

describe('replica serve', () => {
  test('the first start prints and keeps the credentials once, and they work', async () => {
    const folder = await newFolder();
    const first = await folder.serve();
    const bootstrap = folder.bootstrap();
    expect(statSync(path.join(folder.dataDir, 'bootstrap.json')).mode & 0o777).toBe(0o600);
    expect(bootstrap.base_url).toBe(folder.baseUrl);
    expect(first.output.stdout).toContain(bootstrap.api_key);
    expect(first.output.stdout).toContain(bootstrap.admin.password);
    const me = await caller(folder.baseUrl, bootstrap.api_key)('GET', '/v1/me');
    expect(me.body).toMatchObject({ organization: { id: bootstrap.organization_id }, role: 'admin' });
    await first.kill('SIGTERM');

    const second = await folder.serve();
    expect(second.output.stdout).not.toContain('rs_org_');
    expect(folder.bootstrap()).toEqual(bootstrap);
    expect((await caller(folder.baseUrl, bootstrap.api_key)('GET', '/v1/me')).status).toBe(200);
    expect(first.output.stderr + second.output.stderr).not.toContain(bootstrap.api_key);
  });

  test('SIGTERM answers the request that has begun, then ends with nothing left running', async () => {
    const folder = await newFolder();
    const service = await folder.serve();
    const postmaster = folder.postmasterPid();
    const body = JSON.stringify({ name: 'drained' });
    const socket = connect(Number(new URL(folder.baseUrl).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      `POST /v1/environments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${folder.bootstrap().api_key}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
    );
    // The head has been read once the service has answered a later request on another connection.
    await fetch(`${folder.baseUrl}/healthz`);
    service.child.kill('SIGTERM');
    await waitFor(async () => service.output.stderr.includes('SIGTERM'));
    socket.write(body.slice(5));
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    expect(answer).toMatch(/^HTTP\/1\.1 201 /);
    if (service.child.exitCode === null) await once(service.child, 'exit');
    expect(service.child.exitCode).toBe(0);
    expect(isRunning(postmaster)).toBe(false);
  });

  test('SIGTERM during the first start ends it with nothing left running', async () => {
    const folder = await newFolder();
    const service = folder.launch();
    await waitFor(async () => service.output.stderr.includes('Making the database'));
    expect(await service.kill('SIGTERM')).toBe(0);
    expect(readdirSync(folder.dataDir).filter((name) => name.startsWith('postgres'))).toEqual([
      'postgres-start.db',
    ]);
  });

  test('a second service on the same folder says who holds it and stops', async () => {
    const folder = await newFolder();
    const service = await folder.serve();
    const second = await folder.run(['serve']);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(String(service.child.pid));
    expect(second.stderr.trim().split('\n')).toHaveLength(1);
    expect((await fetch(`${folder.baseUrl}/readyz`)).status).toBe(200);
  });

  test('a port that is taken ends the first start before anything is made', async () => {
    const folder = await newFolder();
    const other = createServer().listen(Number(new URL(folder.baseUrl).port), '127.0.0.1');
    await once(other, 'listening');
    const result = await folder.run(['serve']);
    other.close();
    expect([result.code, result.stderr.trim().split('\n').length]).toEqual([1, 1]);
    expect(result.stderr).toContain('choose another port with REPLICA_PORT');
    expect(existsSync(path.join(folder.dataDir, 'bootstrap.json'))).toBe(false);
    expect((await folder.serve()).output.stdout).toContain('rs_org_');
  });

  test('a database server left by a killed service is adopted', async () => {
    const folder = await newFolder();
    const first = await folder.serve();
    const postmaster = folder.postmasterPid();
    await first.kill('SIGKILL');
    await folder.serve();
    expect(folder.postmasterPid()).toBe(postmaster);
  });

  test('a database server that is killed comes back, and so does everything that uses it', async () => {
    const folder = await newFolder();
    await folder.serve();
    const call = caller(folder.baseUrl, folder.bootstrap().api_key);
    expect((await call('POST', '/v1/environments', { name: 'before' })).status).toBe(201);
    process.kill(folder.postmasterPid(), 'SIGKILL');
    const after = async () => (await call('POST', '/v1/environments', { name: 'after' })).status;
    await expect.poll(after, { timeout: 30_000 }).toBeOneOf([201, 409]);
    const { body } = await call('GET', '/v1/environments');
    expect(body.environments).toHaveLength(3);
    // A job is worked off: a repository that cannot be reached leaves its first status.
    const made = await call('POST', '/v1/repositories', { url: 'https://git.invalid/acme/site' });
    const status = async () =>
      (await call('GET', `/v1/repositories/${made.body.repository.id}`)).body.repository.status;
    await expect.poll(status, { timeout: 30_000 }).toBe('error');
  });

  test.each([
    [{ REPLICA_PORT: 'seventy' }, 'REPLICA_PORT is wrong'],
    [{ REPLICA_SECRET_KEY: 'short' }, 'REPLICA_SECRET_KEY'],
    [{ REPLICA_DATA_DIR: '/proc/replica' }, 'choose another folder with REPLICA_DATA_DIR'],
    [{ DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' }, 'database'],
    [{ REPLICA_DATA_DIR: '/dev/null/replica' }, 'REPLICA_DATA_DIR'],
  ])('%j stops the start with one clear line', async (environment, sentence) => {
    const folder = await newFolder();
    Object.assign(folder.environment, environment);
    const result = await folder.run(['serve']);
    Object.assign(folder.environment, {
      REPLICA_DATA_DIR: folder.dataDir,
      REPLICA_PORT: new URL(folder.baseUrl).port,
      REPLICA_SECRET_KEY: '',
      DATABASE_URL: '',
    });
    expect(result.code).toBe(1);
    expect(result.stderr.trim().split('\n')).toHaveLength(1);
    expect(result.stderr).toContain(sentence);
    expect(result.stderr).not.toMatch(/\bat .*\.ts:/);
  });

  test('another key than the one the data was sealed with stops the start with a clear line', async () => {
    const folder = await newFolder();
    await (await folder.serve()).kill('SIGTERM');
    const key = readFileSync(path.join(folder.dataDir, 'secret.key'), 'utf8');
    folder.environment.REPLICA_SECRET_KEY = Buffer.alloc(32, 7).toString('base64');
    const result = await folder.run(['serve']);
    folder.environment.REPLICA_SECRET_KEY = key.trim();
    expect(result.code).toBe(1);
    expect(result.stderr).toContain('sealed with key');
  });
});

async function waitFor(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(5);
}

/** A process that has ended keeps its entry until whoever inherits it takes notice. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
