import { describe, expect, test } from 'vitest';
import {
  bubblewrapArguments,
  bubblewrapCommand,
  engineEnvironment,
  type LaunchSpec,
  mountedPaths,
} from './launch-spec.ts';

const limits = { cpus: 1, memoryMiB: 512, diskMiB: 1024, processes: 100 };
const spec: LaunchSpec = {
  identity: 'own_range',
  stage: '/tmp',
  hostPaths: ['/usr', '/etc/ssl/certs'],
  mounts: [
    { name: 'b0', inside: '/opt/replica/node' },
    { name: 'b1', inside: '/run/replica' },
  ],
  environment: { HOME: '/home/replica' },
  limits,
};

/** The arguments with their values, one option a line. */
const lines = (wish: LaunchSpec) =>
  bubblewrapArguments(wish)
    .join(' ')
    .split(/ (?=--)/);

describe('the arguments of bubblewrap', () => {
  test.each([
    ['the root comes from the stage', '--bind /tmp/m /'],
    ["the host's programs are read-only", '--ro-bind-try /usr /usr'],
    ['what is above a mount can be entered by every user inside', '--dir /etc/ssl'],
    ['every namespace is its own', '--unshare-all'],
    ['a user namespace is not optional', '--unshare-user'],
    ['no capability is inherited', '--cap-drop ALL'],
    ['shared memory is at most half of the memory', '--tmpfs /dev/shm'],
    ['devices cannot be replaced', '--remount-ro /dev'],
    ['mounts are read-only', '--ro-bind /tmp/b0 /opt/replica/node'],
    ['nothing of our environment goes in', '--clearenv'],
    ['the map is written from outside', '--userns-block-fd 7'],
    ['calls are filtered', '--seccomp 8'],
  ])('%s', (_name, line) => {
    expect(lines(spec)).toContain(line);
  });

  test('folders below /run are mounted after /run itself', () => {
    const all = lines(spec);
    expect(all.indexOf('--tmpfs /run')).toBeLessThan(all.indexOf('--ro-bind /tmp/b1 /run/replica'));
  });

  test('a base with programs of its own shows nothing of the host', () => {
    expect(lines({ ...spec, hostPaths: [] }).filter((line) => /-bind(-try)? \/(usr|etc)/.test(line))).toEqual(
      [],
    );
  });

  test('an ordinary user has nothing to wait for: bubblewrap writes the map', () => {
    expect(lines({ ...spec, identity: 'service_user' }).join()).not.toContain('userns-block');
  });
});

test.each([
  [
    'own_range' as const,
    'setpriv --reuid 100000 --regid 100000 --clear-groups bwrap --args 5 -- node engine.mjs',
  ],
  ['service_user' as const, 'prlimit --nproc=100:100 bwrap --args 5 -- node engine.mjs'],
])('bubblewrap is started for %s without a value in its arguments', (identity, command) => {
  expect(bubblewrapCommand({ identity, limits }, ['node', 'engine.mjs']).join(' ')).toBe(command);
});

test('variables of the caller win over the defaults', () => {
  const environment = engineEnvironment({ LANG: 'de', SECRET: 'x' }, { compileCache: true });
  expect(environment).toMatchObject({
    HOME: '/home/replica',
    LANG: 'de',
    SECRET: 'x',
    NODE_COMPILE_CACHE: '/opt/replica/compile-cache',
  });
  expect(engineEnvironment({}, { compileCache: false })).not.toHaveProperty('NODE_COMPILE_CACHE');
});

test('every folder above a mount is looked at, but nothing on a file system that is always new', () => {
  const paths = mountedPaths({ hostPaths: [], mounts: spec.mounts });
  expect(paths).toEqual([
    '/dev',
    '/home',
    '/home/replica',
    '/opt',
    '/opt/replica',
    '/opt/replica/node',
    '/proc',
    '/run',
  ]);
  expect(mountedPaths(spec)).toEqual(expect.arrayContaining(['/etc', '/etc/ssl', '/etc/ssl/certs', '/usr']));
});
