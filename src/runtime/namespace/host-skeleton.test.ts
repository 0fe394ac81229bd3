import { expect, test } from 'vitest';
import { hostSkeleton, isSharedConfiguration, type SkeletonEntry } from './host-skeleton.ts';

const merged = hostSkeleton({
  programs: { bin: { link: 'usr/bin' }, lib64: { link: 'usr/lib64' } },
  configuration: ['/etc/alternatives', '/etc/ssl/certs', '/etc/ssl/openssl.cnf', '/etc/pki/tls/certs'],
});
const find = (entries: SkeletonEntry[], path: string) => entries.find((entry) => entry.path === path);

test.each<[string, SkeletonEntry]>([
  ['bin', { path: 'bin', kind: 'link', target: 'usr/bin' }],
  ['lib64', { path: 'lib64', kind: 'link', target: 'usr/lib64' }],
  ['usr', { path: 'usr', kind: 'folder', mode: 0o755 }],
  ['tmp', { path: 'tmp', kind: 'folder', mode: 0o1777 }],
  ['var/tmp', { path: 'var/tmp', kind: 'folder', mode: 0o1777 }],
  ['home/replica', { path: 'home/replica', kind: 'folder', mode: 0o755 }],
  ['opt/replica', { path: 'opt/replica', kind: 'folder', mode: 0o755 }],
  ['etc/ssl', { path: 'etc/ssl', kind: 'folder', mode: 0o755 }],
  ['etc/pki', { path: 'etc/pki', kind: 'folder', mode: 0o755 }],
  ['etc/pki/tls', { path: 'etc/pki/tls', kind: 'folder', mode: 0o755 }],
  ['opt/replica/node', { path: 'opt/replica/node', kind: 'file', mode: 0o755, text: '' }],
  ['opt/replica/compile-cache', { path: 'opt/replica/compile-cache', kind: 'folder', mode: 0o755 }],
  ['etc/resolv.conf', { path: 'etc/resolv.conf', kind: 'file', mode: 0o644, text: '' }],
])('has %s', (path, entry) => {
  expect(find(merged, path)).toEqual(entry);
});

test('a system without links into /usr gets folders to mount over', () => {
  expect(find(hostSkeleton({ programs: { bin: 'folder' }, configuration: [] }), 'bin')).toEqual({
    path: 'bin',
    kind: 'folder',
    mode: 0o755,
  });
});

test('root lives in the home of the workspace', () => {
  expect(find(merged, 'etc/passwd')).toMatchObject({
    text: expect.stringMatching(/^root:x:0:0:root:\/home\/replica:/),
  });
});

test('git trusts every folder inside', () => {
  expect(find(merged, 'etc/gitconfig')).toMatchObject({ text: '[safe]\n\tdirectory = *\n' });
});

test('every name appears once', () => {
  const paths = merged.map(({ path }) => path);
  expect(new Set(paths).size).toBe(paths.length);
});

test.each([
  '/etc/alternatives',
  '/etc/ssl/certs',
  '/etc/java-17-openjdk',
  '/etc/python3.11',
  '/etc/ld.so.cache',
])('%s is shown', (path) => {
  expect(isSharedConfiguration(path)).toBe(true);
});

test.each([
  '/etc/shadow',
  '/etc/ssl',
  '/etc/ssl/private',
  '/etc/npmrc',
  '/etc/pip.conf',
  '/etc/ssh',
  '/etc/environment',
])('%s is not shown', (path) => {
  expect(isSharedConfiguration(path)).toBe(false);
});
