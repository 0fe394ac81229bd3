import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { ServiceFolder } from '../world/service-process.ts';

const folders: ServiceFolder[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await folder.remove();
});

async function replica(args: string[], environment: Record<string, string> = {}) {
  const folder = await ServiceFolder.create(environment);
  folders.push(folder);
  return { folder, ...(await folder.run(args)) };
}

const noIsolation = { REPLICA_RUNTIME: 'process', REPLICA_I_UNDERSTAND_THERE_IS_NO_ISOLATION: 'true' };

describe('replica doctor', () => {
  test('says of the default driver what it has tried, and fails exactly when there is a problem', async () => {
    const { code, stdout } = await replica(['doctor', '--json'], { REPLICA_RUNTIME: '' });
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({
      driver: 'namespace',
      probe: { problems: report.problems, limits: expect.any(Object) },
      kernelLimits: expect.arrayContaining([
        expect.objectContaining({ name: 'fs.inotify.max_user_instances', wanted: expect.any(Number) }),
      ]),
      sizes: { small: { limits: { diskMiB: 20_480 } }, large: { limits: { diskMiB: 32_768 } } },
    });
    expect(code).toBe(report.problems.length > 0 ? 1 : 0);
  });

  test('prints a table for people', async () => {
    const { code, stdout } = await replica(['doctor'], noIsolation);
    expect(code).toBe(0);
    expect(stdout).toMatch(/driver +process\n +isolation +none\n/);
    expect(stdout).toMatch(/memory limit +none\n/);
    expect(stdout).toMatch(/size small +\d+ vCPU, \d+ MiB memory, 20480 MiB disk/);
    expect(stdout).toContain('Nothing is isolated');
    expect(stdout).toContain('Sandboxes can run here.');
  });

  test('refuses to go without isolation unless the operator says so in so many words', async () => {
    const { code, stdout } = await replica(['doctor'], { REPLICA_RUNTIME: 'process' });
    expect(code).toBe(1);
    expect(stdout).toContain('REPLICA_I_UNDERSTAND_THERE_IS_NO_ISOLATION=true');
    expect(stdout).toContain('Sandboxes cannot run here.');
  });

  test('says what to do when a tree is asked for and there is none', async () => {
    const { code, stdout } = await replica(['doctor'], {
      REPLICA_RUNTIME: 'namespace',
      REPLICA_SANDBOX_BASE: 'rootfs',
    });
    expect(code).toBe(1);
    expect(stdout).toContain('replica base build');
  });

  test('names a setting that is wrong', async () => {
    const { code, stderr } = await replica(['doctor'], { REPLICA_RUNTIME: 'dance' });
    expect(code).toBe(1);
    expect(stderr).toContain('REPLICA_RUNTIME is wrong');
  });
});

describe('replica base build', () => {
  test.each([
    ['--suite', '../bookworm'],
    ['--with', '-o=Dpkg::Pre-Invoke::=id'],
    ['--with', 'git curl'],
  ])('refuses %s %s before it does anything', async (...option) => {
    const { code, stderr, folder } = await replica(['base', 'build', option.join('=')]);
    expect(code).toBe(1);
    expect(stderr).toContain('is not the name of a release or a package');
    expect(existsSync(path.join(folder.dataDir, 'base'))).toBe(false);
  });
});
