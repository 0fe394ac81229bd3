import { describe, expect, test } from 'vitest';
import {
  issueEvent,
  mergeRequestEvent,
  noteEvent,
  pipelineEvent,
  pushEvent,
} from '../../test/world/gitlab-event.ts';
import { mapEvent } from './mapping.ts';

const on = { url: 'https://git.example.com/acme/shop.git' };
const page = 'https://git.example.com/acme/shop/-/merge_requests/5';
const sha = 'c0ffee11c0ffee11c0ffee11c0ffee11c0ffee11';
const map = (payload: Record<string, unknown>) => mapEvent('gitlab', String(payload.object_kind), payload);
const request = { number: 5, url: page, state: 'open', headBranch: 'basket', headCommit: sha };

describe('events of GitLab', () => {
  test.each([
    ['open', 'opened', ['merge_request.opened'], 'open'],
    ['reopen', 'opened', [], 'open'],
    ['merge', 'merged', ['merge_request.merged'], 'merged'],
    ['close', 'closed', ['merge_request.closed'], 'closed'],
  ])('a merge request after %s', (action, state, triggers, becomes) => {
    expect(map(mergeRequestEvent(on, { action, state }))).toEqual({
      kind: 'gitlab',
      triggers,
      actor: 'ada',
      pullRequest: { ...request, state: becomes },
      numbers: [],
      commit: sha,
      branch: 'basket',
      remark: null,
      comment: null,
    });
  });

  test('an update counts when it brings commits', () => {
    const oldrev = 'deadbeef22deadbeef22deadbeef22deadbeef22';
    expect(map(mergeRequestEvent(on, { action: 'update', oldrev }))?.triggers).toEqual([
      'merge_request.updated',
    ]);
    expect(map(mergeRequestEvent(on, { action: 'update' }))).toBeNull();
    expect(map(mergeRequestEvent(on, { action: 'approved' }))).toBeNull();
  });

  test('the branch of another project is none of this one', () => {
    const forked = mergeRequestEvent(on, { action: 'open', source_project_id: 99 });
    expect(map(forked)?.pullRequest).toEqual({ ...request, headBranch: null });
  });

  test('a merge request that is being merged is open', () => {
    const event = map(mergeRequestEvent(on, { action: 'reopen', state: 'locked' }));
    expect(event?.pullRequest?.state).toBe('open');
  });

  test('an issue that is opened', () => {
    expect(map(issueEvent(on))).toMatchObject({
      triggers: ['issue.opened'],
      actor: 'ada',
      pullRequest: null,
    });
    expect(map(issueEvent(on, 'close'))).toBeNull();
  });

  test('a note on a merge request is also for its agent', () => {
    expect(map(noteEvent(on))).toMatchObject({
      triggers: ['note.created'],
      pullRequest: request,
      remark: {
        kind: 'comment',
        key: `${page}#note_1244`,
        url: `${page}#note_1244`,
        text: 'ada commented:\n\nPlease count twice.',
      },
      comment: { text: 'Please count twice.' },
    });
  });

  test('a note on an issue is for automations only', () => {
    expect(map(noteEvent(on, { isOnIssue: true }))).toMatchObject({
      triggers: ['note.created'],
      pullRequest: null,
      remark: null,
    });
  });

  test.each([
    ['that is changed', { action: 'update' }, null],
    ['that GitLab makes by itself', { system: true }, null],
    ['of a version that names no action', { action: undefined }, ['note.created']],
  ])('a note %s', (_, fields, triggers) => {
    expect(map(noteEvent(on, { fields }))?.triggers ?? null).toEqual(triggers);
  });

  test('a push, unless it removes the branch', () => {
    expect(map(pushEvent(on))).toMatchObject({
      triggers: ['push'],
      actor: 'ada',
      branch: 'basket',
      commit: sha,
    });
    expect(map(pushEvent(on, { after: '0'.repeat(40), checkout_sha: null }))).toBeNull();
  });

  test('a pipeline that failed names the jobs that had to succeed', () => {
    expect(map(pipelineEvent(on))).toMatchObject({
      triggers: [],
      numbers: [5],
      commit: sha,
      branch: 'basket',
      remark: {
        kind: 'check',
        key: `The pipeline@${sha}`,
        url: 'https://git.example.com/acme/shop/-/pipelines/31',
        text: `The pipeline has failed on commit ${sha}.\n\nFailed jobs: unit`,
      },
    });
    expect(map(pipelineEvent(on, 'success'))).toBeNull();
  });
});
