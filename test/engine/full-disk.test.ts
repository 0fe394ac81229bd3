import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { bootHook, bootPlan, createEngineFolder, ofType, until } from './engine-folder.ts';

const canMount = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

// Only root can give the engine a small disk of its own, in a mount namespace that goes with it.
test.skipIf(!canMount)('a full disk is reported, and the engine goes on', async () => {
  const folder = createEngineFolder();
  try {
    const gateway = await folder.openGateway();
    const node = path.join(folder.home, '..', 'node-on-small-disk');
    const script = `mount -t tmpfs -o size=512k tmpfs '${folder.home}' && exec '${process.execPath}' "$0"`;
    writeFileSync(
      node,
      `#!/bin/sh\nexec unshare --mount sh -c "${script.replaceAll('"', '\\"').replaceAll('$', '\\$')}" "$1"\n`,
      { mode: 0o755 },
    );
    const engine = await folder.start({ node });

    const hook = bootHook({ commands: ['head -c 1000000 /dev/zero > fill; echo filled'] });
    expect(await engine.boot(bootPlan({ hooks: [hook] }))).toBe('finished');
    await until(() => ofType(gateway.events, 'boot.finished').length === 1, 'the boot has finished');
    expect(
      ofType(gateway.events, 'hook.output')
        .map(({ text }) => text)
        .join(''),
    ).toMatch(/No space left.*\nfilled\n/);

    const files = [{ path: '~/large', contentBase64: Buffer.alloc(65_536, 'x').toString('base64') }];
    expect(await engine.boot(bootPlan({ files }))).toBe('failed');
    await until(() => ofType(gateway.events, 'boot.failed').length === 1, 'the boot has failed');
    expect(ofType(gateway.events, 'boot.failed')).toMatchObject([
      { message: expect.stringMatching(/^The disk of the workspace is full/) },
    ]);

    expect(await engine.boot(bootPlan({ hooks: [bootHook({ commands: ['rm fill'] })] }))).toBe('finished');
    expect(await engine.boot(bootPlan({ files }))).toBe('finished');
    await until(() => ofType(gateway.events, 'boot.finished').length === 3, 'all have finished');
    expect(gateway.events.map(({ seq }) => seq)).toEqual(gateway.events.map((_, index) => index + 1));
  } finally {
    await folder.close();
  }
});
