import { expect, test } from 'vitest';
import { changedAt } from './changed-at.ts';

test.each([
  ['of GitHub', { pull_request: { updated_at: '2026-05-17T10:00:00Z' } }, '2026-05-17T10:00:00.000Z'],
  ['of a comment on GitHub', { issue: { updated_at: '2026-05-17T10:00:00Z' } }, '2026-05-17T10:00:00.000Z'],
  [
    'of GitLab, in its own form',
    { object_attributes: { updated_at: '2026-05-17 10:00:00 UTC' } },
    '2026-05-17T10:00:00.000Z',
  ],
  [
    'of a note on GitLab, which has a time of its own',
    {
      object_attributes: { updated_at: '2026-05-17T11:00:00Z' },
      merge_request: { updated_at: '2026-05-17T10:00:00Z' },
    },
    '2026-05-17T10:00:00.000Z',
  ],
])('the time %s is read', (_name, payload, time) => {
  expect(changedAt(payload)?.toISOString()).toBe(time);
});

test.each([
  [{}],
  [null],
  ['text'],
  [{ pull_request: { updated_at: 'soon' } }],
  [{ pull_request: { updated_at: 5 } }],
  [{ pull_request: { updated_at: '+275760-09-13T00:00:00Z' } }],
])('%j says no time', (payload) => {
  expect(changedAt(payload)).toBeNull();
});
