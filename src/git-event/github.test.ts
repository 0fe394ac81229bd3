import { describe, expect, test } from 'vitest';
import { type Recorded, recorded } from '../../test/world/github-event.ts';
import { mapEvent } from './mapping.ts';

const map = (name: string, payload: Recorded) => mapEvent('github', name, payload);

const url = 'https://github.com/Codertocat/Hello-World/pull/2';
const head = 'ec26c3e57ca3a959ca5aad62de7213c562f8c821';
const opened = { number: 2, url, state: 'open', headBranch: 'changes', headCommit: head };

describe('what recorded events of GitHub say', () => {
  test.each([
    ['opened', ['pull_request.opened'], 'open'],
    ['reopened', [], 'open'],
    ['synchronize', ['pull_request.synchronize'], 'open'],
    ['closed', ['pull_request.closed'], 'closed'],
  ])('a pull request that is %s', (action, triggers, state) => {
    const payload = recorded('pull_request', action);
    expect(map('pull_request', payload)).toEqual({
      kind: 'github',
      triggers,
      actor: 'Codertocat',
      pullRequest: { ...opened, state, headCommit: payload.pull_request.head.sha },
      numbers: [],
      commit: payload.pull_request.head.sha,
      branch: 'changes',
      remark: null,
      comment: null,
    });
  });

  test('a pull request that is merged is not closed', () => {
    const payload = recorded('pull_request', 'closed');
    payload.pull_request.merged = true;
    expect(map('pull_request', payload)).toMatchObject({
      triggers: ['pull_request.merged'],
      pullRequest: { state: 'merged' },
    });
  });

  test('the branch of a fork is none of the repository, also when the fork is gone', () => {
    for (const repo of [{ full_name: 'stranger/Hello-World' }, null]) {
      const payload = recorded('pull_request', 'opened');
      payload.pull_request.head.repo = repo;
      expect(map('pull_request', payload)?.pullRequest).toEqual({ ...opened, headBranch: null });
    }
  });

  test('a comment on an issue is for automations only', () => {
    expect(map('issue_comment', recorded('issue_comment', 'created'))).toMatchObject({
      triggers: ['issue_comment.created'],
      pullRequest: null,
      remark: null,
      comment: { text: "You are totally right! I'll get this fixed right away." },
    });
  });

  test.each([
    ['Have a look.', ['issue_comment.created']],
    ['  /replica fix it', ['issue_comment.created', 'pull_request.command']],
  ])('a comment on a pull request: %s', (body, triggers) => {
    const payload = recorded('issue_comment', 'created');
    payload.issue.pull_request = { html_url: url, merged_at: null };
    payload.comment.body = body;
    expect(map('issue_comment', payload)).toMatchObject({
      triggers,
      pullRequest: { url, state: 'open', headBranch: null, headCommit: null },
      remark: {
        kind: 'comment',
        key: payload.comment.html_url,
        text: `Codertocat commented:\n\n${body.trim()}`,
      },
      comment: { text: body.trim(), url: payload.comment.html_url },
    });
  });

  test.each([
    ['changes_requested', 'Not yet.', 'Codertocat requested changes:\n\nNot yet.'],
    ['changes_requested', null, 'Codertocat requested changes.'],
    ['COMMENTED', 'Hm.', 'Codertocat reviewed:\n\nHm.'],
    ['commented', null, null],
    ['approved', 'Good.', null],
  ])('a review of state %s that says %s', (state, body, text) => {
    const payload = recorded('pull_request_review', 'submitted');
    Object.assign(payload.review, { state, body });
    const event = map('pull_request_review', payload);
    if (text === null) expect(event).toBeNull();
    else
      expect(event).toMatchObject({
        triggers: [],
        pullRequest: opened,
        remark: { kind: 'review', key: payload.review.html_url, text },
      });
  });

  test.each([
    ['MEMBER', 'User', true, true],
    ['COLLABORATOR', 'User', true, true],
    ['NONE', 'Bot', false, true],
    ['CONTRIBUTOR', 'User', false, false],
    ['NONE', 'User', false, false],
    [undefined, 'User', false, false],
  ])(
    'of those who comment, a %s of type %s: commands %s, is heard %s',
    (association, type, commands, isHeard) => {
      const by = { author_association: association, user: { login: 'x', type } };
      const comment = recorded('issue_comment', 'created');
      comment.issue.pull_request = { html_url: url, merged_at: null };
      Object.assign(comment.comment, by, { body: '/replica fix it' });
      const review = recorded('pull_request_review', 'submitted');
      Object.assign(review.review, by, { state: 'changes_requested', body: 'No.' });
      const line = recorded('pull_request_review_comment', 'created');
      Object.assign(line.comment, by);
      const commented = map('issue_comment', comment);
      expect(commented?.triggers.includes('pull_request.command')).toBe(commands);
      const remarks = [
        commented,
        map('pull_request_review', review),
        map('pull_request_review_comment', line),
      ];
      expect(remarks.map((event) => event?.remark != null)).toEqual([isHeard, isHeard, isHeard]);
    },
  );

  test('a comment on a line', () => {
    const payload = recorded('pull_request_review_comment', 'created');
    Object.assign(payload.comment, { path: 'README.md', line: 3 });
    expect(map('pull_request_review_comment', payload)).toMatchObject({
      triggers: [],
      pullRequest: opened,
      remark: { text: `Codertocat commented on README.md, line 3:\n\n${payload.comment.body}` },
    });
  });

  test('a check that failed names its pull requests, and no other', () => {
    const payload = recorded('check_run', (each) => each.check_run.conclusion === 'failure');
    const { check_run: run } = payload;
    run.pull_requests.push({ number: 77, base: { repo: { id: payload.repository.id + 1 } } });
    Object.assign(run.output, { title: 'Two tests', summary: 'One and another.' });
    expect(map('check_run', payload)).toMatchObject({
      triggers: [],
      numbers: [run.pull_requests[0].number],
      commit: run.head_sha,
      branch: run.check_suite.head_branch,
      remark: {
        kind: 'check',
        key: `${run.name}@${run.head_sha}`,
        text: `${run.name} has failed on commit ${run.head_sha}.\n\nTwo tests\n\nOne and another.`,
        url: run.html_url,
      },
    });
    run.conclusion = 'success';
    expect(map('check_run', payload)).toBeNull();
  });

  test('a workflow that failed', () => {
    const payload = recorded('workflow_run', 'completed');
    payload.workflow_run.conclusion = 'failure';
    const { name, head_sha, head_branch } = payload.workflow_run;
    expect(map('workflow_run', payload)).toMatchObject({
      commit: head_sha,
      branch: head_branch,
      remark: { kind: 'check', key: `${name}@${head_sha}` },
    });
  });

  test('a status that failed', () => {
    const payload = recorded('status');
    Object.assign(payload, { state: 'error', context: 'ci/build', description: 'It broke.', sha: head });
    expect(map('status', payload)).toMatchObject({
      commit: head,
      branch: 'changes',
      remark: {
        key: `ci/build@${head}`,
        text: `ci/build has failed on commit ${head}.\n\nIt broke.`,
        url: null,
      },
    });
  });

  test('a push to a branch', () => {
    const payload = recorded('push', (each) => each.ref === 'refs/heads/master');
    expect(map('push', payload)).toMatchObject({
      triggers: ['push'],
      actor: 'Codertocat',
      branch: 'master',
      commit: '6113728f27ae82c7b1a177c8d03f9e96e0adf246',
    });
  });
});
