import { execFile, execFileSync } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createNamespaceWorld, type NamespaceWorld, obstacle } from '../runtime/namespace-world.ts';
import { attempts } from './attempts.ts';
import { titled } from './escape-world.ts';
import { callNames } from './raw-calls.ts';

const program = path.join(import.meta.dirname, 'user-process.ts');
/** A user and group that nobody has. */
const someone = '61235';
const asSomeone = ['--reuid', someone, '--regid', someone, '--clear-groups', '--inh-caps=-all'];

const hindrance = obstacle ?? findHindrance();

describe.skipIf(hindrance !== undefined)(titled('a sandbox of an ordinary user', hindrance), () => {
  let world: NamespaceWorld;
  let said: string[];

  beforeAll(async () => {
    world = await createNamespaceWorld();
    execFileSync('chown', ['-R', `${someone}:${someone}`, world.folder]);
    const args = [...asSomeone, process.execPath, program, JSON.stringify(world.options)];
    const { stdout } = await promisify(execFile)('setpriv', args, {
      cwd: '/',
      env: { PATH: process.env.PATH ?? '' },
    });
    said = JSON.parse(stdout);
  });
  afterAll(async () => expect(await world?.end()).toEqual([]));

  it.each(attempts.map(([what, , nothing], index) => ({ what, nothing, index })))(
    'has nobody inside who can $what',
    ({ nothing, index }) => {
      expect(said[index]).toMatch(nothing);
    },
  );

  it('answers none of the calls that a sandbox has no business with', () => {
    expect(said.at(-1)).toBe(`${callNames.length} tried\n`);
  });
});

/** Why an ordinary user cannot try it here. */
function findHindrance(): string | undefined {
  const tries = {
    'another user cannot read the sources': ['test', '-r', program],
    'ordinary users have no user namespaces here': ['unshare', '--user', '--map-root-user', 'true'],
  };
  for (const [why, command] of Object.entries(tries)) {
    try {
      execFileSync('setpriv', [...asSomeone, ...command], { stdio: 'ignore' });
    } catch {
      return why;
    }
  }
  return undefined;
}
