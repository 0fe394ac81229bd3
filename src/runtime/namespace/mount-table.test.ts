import { expect, test } from 'vitest';
import { mountTable } from './mount-table.ts';

test.each([
  [
    'a plain line',
    { source: '/data/disk.img', target: '/data/d', type: 'ext4', options: 'loop,nodev' },
    '/data/disk.img /data/d ext4 loop,nodev 0 0\n',
  ],
  [
    'spaces, tabs, backslashes and hashes are written by their number',
    { source: '/my data/#1', target: '/a\\b\tc', type: 'none', options: 'bind' },
    '/my\\040data/\\0431 /a\\134b\\011c none bind 0 0\n',
  ],
])('%s', (_name, mount, line) => {
  expect(mountTable([mount])).toBe(line);
});
