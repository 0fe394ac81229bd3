import { expect, test } from 'vitest';
import { lastPart, slugOf } from './skill-slug.ts';

test.each([
  ['pdf', 'pdf'],
  ['PDF Tools', 'pdf-tools'],
  ['Ärger über Zoë', 'arger-uber-zoe'],
  ['  ../../etc/passwd ', 'etc-passwd'],
  ['.hidden', 'hidden'],
  ['v1.2_final', 'v1.2_final'],
  ['技能', ''],
  ['..', ''],
  ['x'.repeat(100), 'x'.repeat(64)],
])('%j becomes %j', (name, slug) => {
  expect(slugOf(name)).toBe(slug);
});

test.each([
  ['pdf', 'pdf'],
  ['acme/tools/pdf', 'pdf'],
])('the last part of %j is %j', (slug, part) => {
  expect(lastPart(slug)).toBe(part);
});
