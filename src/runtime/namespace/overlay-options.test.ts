import { expect, test } from 'vitest';
import { maxLayers, overlayOptions } from './overlay-options.ts';

test.each([
  [
    'an empty disk stands on the base alone',
    { layers: 0, ordinaryUser: false },
    'lowerdir=base,upperdir=d/u,workdir=d/w,nodev,nosuid,redirect_dir=on,index=off,metacopy=off',
  ],
  [
    'layers come newest first and the base last',
    { layers: 2, ordinaryUser: false },
    'lowerdir=l0/u:l1/u:base,upperdir=d/u,workdir=d/w,nodev,nosuid,redirect_dir=on,index=off,metacopy=off',
  ],
  [
    "an ordinary user's marks are user attributes",
    { layers: 1, ordinaryUser: true },
    'lowerdir=l0/u:base,upperdir=d/u,workdir=d/w,nodev,nosuid,userxattr,index=off',
  ],
])('%s', (_name, wish, options) => {
  expect(overlayOptions(wish)).toBe(options);
});

test('the options fit into one page with as many layers as are allowed, and more are refused', () => {
  expect(overlayOptions({ layers: maxLayers, ordinaryUser: false }).length).toBeLessThan(4096);
  expect(() => overlayOptions({ layers: maxLayers + 1, ordinaryUser: false })).toThrow('401');
});
