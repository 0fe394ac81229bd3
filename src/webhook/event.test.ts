import { expect, test } from 'vitest';
import { webhookEvent } from '../contract/webhook.ts';
import { replicaStates } from '../replica/lifecycle.ts';
import { type News, newsOfMove, newsOfTurn, webhookBody } from './event.ts';

const at = new Date('2026-03-04T05:06:07.089Z');
const id = '0190a000-0000-7000-8000-000000000001';
const replica = {
  id: '0190a000-0000-7000-8000-000000000002',
  name: 'fix-login',
  state: 'active',
  source: 'automation',
  created_at: new Date('2026-03-01T00:00:00Z'),
} as const;
const head = { id, created_at: '2026-03-04T05:06:07.089Z' };
const told = {
  id: replica.id,
  name: 'fix-login',
  source: 'automation',
  created_at: '2026-03-01T00:00:00.000Z',
};
const summary = {
  repository_statuses: [
    { repository: 'app', branch: 'fix', default_branch: 'main', pr_urls: ['https://git.example/app/pull/7'] },
    { repository: 'web', branch: null, default_branch: null, pr_urls: [] },
  ],
  pr_urls: ['https://git.example/app/pull/7'],
};

test.each<[News, (typeof replicaStates)[number], unknown]>([
  [
    { type: 'replica.ready', data: {} },
    'active',
    { ...head, type: 'replica.ready', replica: { ...told, status: 'active' }, data: {} },
  ],
  [
    newsOfTurn(summary),
    'active',
    { ...head, type: 'replica.turn_completed', replica: { ...told, status: 'active' }, data: summary },
  ],
  [
    newsOfTurn({ repository_statuses: [], pr_urls: [] }),
    'falling_asleep',
    {
      ...head,
      type: 'replica.turn_completed',
      replica: { ...told, status: 'sleeping' },
      data: { repository_statuses: [], pr_urls: [] },
    },
  ],
  [
    { type: 'replica.deleted', data: {} },
    'deleting',
    { ...head, type: 'replica.deleted', replica: { ...told, status: 'deleted' }, data: {} },
  ],
  [
    { type: 'replica.error', data: { message: 'The disk is full.' } },
    'failed',
    {
      ...head,
      type: 'replica.error',
      replica: { ...told, status: 'error' },
      data: { message: 'The disk is full.' },
    },
  ],
])('the body of %j of a replica that is %s has exactly what is promised', (news, state, expected) => {
  const body = JSON.parse(webhookBody({ id, at, replica: { ...replica, state }, news }));
  expect(body).toStrictEqual(expected);
  expect(webhookEvent.parse(body)).toStrictEqual(expected);
});

test('what a summary has besides is not told', () => {
  const more = summary.repository_statuses.map((status) => ({ ...status, head_commit: 'abc' }));
  expect(newsOfTurn({ ...summary, repository_statuses: more }).data).toStrictEqual(summary);
});

test('a replica tells when it is ready, has failed or is deleted, and no other move', () => {
  const told = Object.fromEntries(
    replicaStates.map((state) => [state, newsOfMove({ state, error_message: null })?.type ?? null]),
  );
  expect(told).toEqual({
    preparing: null,
    active: 'replica.ready',
    falling_asleep: null,
    sleeping: null,
    waking: null,
    archiving: null,
    archived: null,
    failed: 'replica.error',
    deleting: 'replica.deleted',
    deleted: null,
  });
});
