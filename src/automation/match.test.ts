import { describe, expect, test } from 'vitest';
import type { Trigger } from '../contract/automation.ts';
import type { GitEvent } from '../git-event/event.ts';
import { matchEvent } from './match.ts';

const opened: GitEvent = {
  kind: 'github',
  triggers: ['pull_request.opened'],
  actor: 'Ada',
  pullRequest: {
    number: 7,
    url: 'https://github.com/acme/shop/pull/7',
    state: 'open',
    headBranch: 'basket',
    headCommit: null,
  },
  numbers: [],
  commit: null,
  branch: 'basket',
  remark: null,
  comment: null,
};
const github = (config: Record<string, unknown> = {}) =>
  ({ type: 'github', config: { event: 'pull_request.opened', ...config } }) as Trigger;
const told = (changes: Partial<GitEvent> = {}, boundRepositoryIds: string[] | null = null) => ({
  event: { ...opened, ...changes },
  repositoryId: 'shop',
  boundRepositoryIds,
});
const isMatch = (trigger: Trigger, about = told()) => matchEvent([trigger], about) !== null;

describe('an event sets off an automation', () => {
  test('that listens to it', () => {
    expect(isMatch(github())).toBe(true);
    expect(isMatch(github({ event: 'pull_request.closed' }))).toBe(false);
    expect(isMatch({ type: 'gitlab', config: { event: 'push' } }, told({ triggers: ['push'] }))).toBe(false);
    expect(isMatch({ type: 'custom', config: {} })).toBe(false);
    expect(isMatch(github(), told({ triggers: [] }))).toBe(false);
  });

  test.each([
    { named: undefined, bound: null, matches: true },
    { named: undefined, bound: ['shop'], matches: true },
    { named: undefined, bound: ['other', 'shop'], matches: true },
    { named: undefined, bound: ['other'], matches: false },
    { named: undefined, bound: [], matches: false },
    { named: ['shop'], bound: ['other'], matches: true },
    { named: ['other'], bound: ['shop'], matches: false },
  ])('of its repositories: $named, or of its environment: $bound → $matches', ({ named, bound, matches }) => {
    expect(isMatch(github({ repository_ids: named }), told({}, bound))).toBe(matches);
  });

  test.each([
    { excluded: ['ada'], actor: 'Ada', matches: false },
    { excluded: ['ADA', 'bob'], actor: 'ada', matches: false },
    { excluded: ['dependabot[bot]'], actor: 'Dependabot[bot]', matches: false },
    { excluded: ['ad'], actor: 'Ada', matches: true },
    { excluded: ['ada'], actor: null, matches: true },
    { excluded: [], actor: 'Ada', matches: true },
  ])('unless it is by $actor and excluded are $excluded', ({ excluded, actor, matches }) => {
    expect(isMatch(github({ excluded_actors: excluded }), told({ actor }))).toBe(matches);
  });

  test.each([
    ['/replica', undefined, true],
    ['/replica fix it', undefined, true],
    ['\n  /Replica\nfix it', undefined, true],
    ['/replicas', undefined, false],
    ['please /replica', undefined, false],
    ['/fix', '/fix', true],
    ['/replica', '/fix', false],
    ['', undefined, false],
  ])('by the command in %j when it is %j: %s', (text, command, matches) => {
    const comment = { text, url: 'https://git.example.com/comment' };
    const event = { triggers: ['issue_comment.created', 'pull_request.command'] as const, comment };
    expect(isMatch(github({ event: 'pull_request.command', command }), told(event))).toBe(matches);
  });

  test('once, also when two of its triggers fit', () => {
    const both = [github({ event: 'issue_comment.created' }), github({ event: 'pull_request.command' })];
    const comment = { text: '/replica', url: 'https://git.example.com/comment' };
    const about = told({ triggers: ['issue_comment.created', 'pull_request.command'], comment });
    expect(matchEvent(both, about)).toEqual({ subject: null });
  });

  test('under the name of its pull request when those are grouped', () => {
    expect(matchEvent([github({ group_pr_events: true })], told())).toEqual({ subject: 'shop#7' });
    expect(matchEvent([github({ group_pr_events: false })], told())).toEqual({ subject: null });
    const issue = told({ pullRequest: null, triggers: ['issues.opened'] });
    expect(matchEvent([github({ event: 'issues.opened', group_pr_events: true })], issue)).toEqual({
      subject: null,
    });
  });
});
