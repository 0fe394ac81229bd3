import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { settings } from '../../src/config.ts';
import { operations } from '../../src/contract/operations.ts';
import { ServiceFolder, type ServiceProcess } from '../world/service-process.ts';
import { caller } from '../world/world.ts';

let folder: ServiceFolder;
let service: ServiceProcess;
beforeAll(async () => {
  folder = await ServiceFolder.create();
  service = await folder.serve();
});
afterAll(() => folder.remove());

describe('replica', () => {
  test('--help lists the commands', async () => {
    const { code, stdout } = await folder.run(['--help']);
    expect(code).toBe(0);
    for (const name of ['serve', 'config', 'keys', 'migrate', 'api', 'login', 'secrets', 'doctor', 'base'])
      expect(stdout).toContain(name);
  });

  test('an unknown command is refused', async () => {
    const { code, stderr } = await folder.run(['dance']);
    expect(code).toBe(1);
    expect(stderr).toContain("unknown command 'dance'");
  });

  test('config lists every setting and shows no secret', async () => {
    folder.environment.REPLICA_API_KEY = 'rs_org_hidden';
    const { stdout } = await folder.run(['config']);
    delete folder.environment.REPLICA_API_KEY;
    for (const { variable } of Object.values(settings)) expect(stdout).toContain(variable);
    expect(stdout).toContain('REPLICA_API_KEY=(set)');
    expect(stdout).not.toContain('hidden');
  });

  test('migrate runs beside the service and leaves its database server up', async () => {
    const { code, stdout } = await folder.run(['migrate']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'The database is up to date.\n' });
    expect((await fetch(`${folder.baseUrl}/readyz`)).status).toBe(200);
  });

  test('api lists every operation of the contract', async () => {
    const { stdout } = await folder.run(['api']);
    for (const name of Object.keys(operations)) expect(stdout).toContain(name);
  });

  test("an operation's help names its fields", async () => {
    const { stdout } = await folder.run(['api', 'createVariable', '--help']);
    expect(stdout).toContain('POST /v1/environments/{environmentId}/variables');
    for (const flag of ['--environment-id', '--key', '--value', '--idempotency-key'])
      expect(stdout).toContain(flag);
  });

  test('api calls an operation with flags, a body, and standard input', async () => {
    const made = await folder.run(['api', 'createEnvironment', '--name', 'by-flags']);
    expect(made.code).toBe(0);
    const { environment } = JSON.parse(made.stdout);
    const body = JSON.stringify({ key: 'FROM_STDIN', value: '1' });
    const variable = await folder.run(
      ['api', 'createVariable', '--environment-id', environment.id, '--body', '-'],
      body,
    );
    expect(JSON.parse(variable.stdout).environment_variable.key).toBe('FROM_STDIN');
  });

  test('api reports a refusal with its code and ends with 1', async () => {
    const { code, stderr, stdout } = await folder.run([
      'api',
      'getEnvironment',
      '--environment-id',
      'nonsense',
    ]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('404 not_found');
  });

  test('keys creates, lists and deletes keys for the first admin of this machine', async () => {
    const key = (await folder.run(['keys', 'create', 'ci'])).stdout.trim();
    expect(key).toMatch(/^rs_org_/);
    expect((await caller(folder.baseUrl, key)('GET', '/v1/me')).status).toBe(200);
    const { stdout } = await folder.run(['keys', 'list']);
    const id =
      stdout
        .split('\n')
        .find((line) => line.endsWith('  ci'))
        ?.split('  ')[0] ?? '';
    expect(stdout).not.toContain(key);
    expect((await folder.run(['keys', 'delete', id])).code).toBe(0);
    await expect
      .poll(async () => (await caller(folder.baseUrl, key)('GET', '/v1/me')).status, { timeout: 2_000 })
      .toBe(401);
  });

  test.each([
    ['api', 'listEnvironments'],
    ['keys', 'list'],
  ])('%s %s shows what is kept on this machine to its own service only', async (...command) => {
    const seen: string[] = [];
    const stranger = createServer((request, response) => {
      seen.push(String(request.url));
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(stranger, 'listening');
    const { port } = stranger.address() as AddressInfo;
    const { code, stderr } = await folder.run([...command, '--server', `http://127.0.0.1:${port}`]);
    stranger.close();
    expect(code).toBe(1);
    expect(stderr).toMatch(/no API key|not signed in/);
    expect(seen).toEqual([]);
    expect((await folder.run([...command, '--server', `${folder.baseUrl}/`])).code).toBe(0);
  });

  test('login with a password keeps a session that only its owner can read', async () => {
    const { admin } = folder.bootstrap();
    const { code, stdout } = await folder.run(['login', '--email', admin.email], `${admin.password}\n`);
    expect({ code, stdout }).toMatchObject({ code: 0 });
    const file = path.join(folder.environment.XDG_CONFIG_HOME ?? '', 'replica/session.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await folder.run(['keys', 'create', 'mine', '--personal'])).stdout).toMatch(/^rs_user_/);
    const wrong = await folder.run(['login', '--email', admin.email], 'wrong-password\n');
    expect(wrong.code).toBe(1);
  });

  test('secrets rotate seals everything anew while the service runs', async () => {
    const call = caller(folder.baseUrl, folder.bootstrap().api_key);
    await call('POST', '/v1/environments/global/variables', { key: 'ROTATED', value: 'kept' });
    const before = readFileSync(path.join(folder.dataDir, 'secret.key'), 'utf8');
    const { code, stdout } = await folder.run(['secrets', 'rotate']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[1-9]\d* secrets are now sealed with key [0-9a-f]{16}\.\n$/);
    expect(readFileSync(path.join(folder.dataDir, 'secret.key'), 'utf8')).not.toBe(before);
    const { body } = await call('GET', '/v1/environments/global/variables');
    expect(body.environment_variables[0]).toMatchObject({ key: 'ROTATED', value: 'kept' });
    await service.kill('SIGTERM');
    service = await folder.serve();
    const again = await call('GET', '/v1/environments/global/variables');
    expect(again.body.environment_variables[0]).toMatchObject({ key: 'ROTATED', value: 'kept' });
  });
});
