import { expect, test } from 'vitest';
import { replicaName } from './replica-name.ts';

const id = '01890000-0000-7000-8000-0123456789ab';

test.each([
  ['Nightly', 'nightly-456789ab'],
  ['  Fix the  build!\n', 'fix-the-build-456789ab'],
  ['Prüfung für Ångström', 'prufung-fur-angstrom-456789ab'],
  ['日本語', 'automation-456789ab'],
  ['🚀', 'automation-456789ab'],
  ['-', 'automation-456789ab'],
  [`${'a'.repeat(59)} b c`, `${'a'.repeat(59)}-456789ab`],
  ['x'.repeat(200), `${'x'.repeat(60)}-456789ab`],
])('%j makes %s', (name, expected) => {
  expect(replicaName(name, id)).toBe(expected);
});
