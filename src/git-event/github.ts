import { z } from 'zod';
import { pullNumber, webUrl } from '../git-host/call.ts';
import type { EventPullRequest } from './event.ts';
import {
  at,
  branchName,
  branchOf,
  commit,
  failure,
  longText,
  reader,
  said,
  shortName,
  textAt,
} from './reading.ts';

/** How GitHub names those who may write to a repository. */
const INSIDERS = ['OWNER', 'MEMBER', 'COLLABORATOR'];
const FAILED = ['failure', 'timed_out', 'startup_failure'];

/** What has happened, as the mapping names it: the event and its action, told apart further where an action is several things. */
export function githubKey(name: string, payload: unknown): string {
  const action = textAt(payload, 'action');
  const plain = action === '' ? name : `${name}.${action}`;
  switch (plain) {
    case 'pull_request.closed':
      return at(payload, 'pull_request', 'merged') === true ? 'pull_request.merged' : plain;
    case 'issue_comment.created':
      return at(payload, 'issue', 'pull_request') && isCommand(at(payload, 'comment'))
        ? 'issue_comment.commanded'
        : plain;
    case 'check_run.completed':
    case 'workflow_run.completed':
      return isFailed(at(payload, name, 'conclusion')) ? `${name}.failed` : plain;
    case 'status':
      return ['failure', 'error'].includes(textAt(payload, 'state')) ? 'status.failed' : plain;
    case 'pull_request_review.submitted':
      return reviewKey(at(payload, 'review'));
    case 'push':
      return at(payload, 'deleted') === true ? 'push.deleted' : plain;
    default:
      return plain;
  }
}

function isCommand(comment: unknown): boolean {
  return textAt(comment, 'body').trimStart().startsWith('/') && isInsider(comment);
}

/** On a public repository anybody may comment; only those who belong to it tell agents what to do. */
function isInsider(said: unknown): boolean {
  return INSIDERS.includes(textAt(said, 'author_association'));
}

/** Programs review too; the repository's owners have let them in. */
function isHeeded(said: unknown): boolean {
  return isInsider(said) || textAt(at(said, 'user'), 'type') === 'Bot';
}

function isFailed(conclusion: unknown): boolean {
  return typeof conclusion === 'string' && FAILED.includes(conclusion);
}

/** A review that says nothing by itself only carries comments, which come as events of their own. */
function reviewKey(review: unknown): string {
  const state = textAt(review, 'state').toLowerCase();
  const isSilent = state === 'commented' && !at(review, 'body');
  return isSilent ? 'pull_request_review.submitted' : `pull_request_review.${state}`;
}

const user = z
  .object({ login: shortName })
  .nullish()
  .transform((who) => who?.login ?? null);
const words = longText.nullish().transform((text) => text?.trim() ?? '');

const pullRequest = z
  .object({
    number: pullNumber,
    html_url: webUrl,
    state: z.enum(['open', 'closed']),
    merged: z.boolean().nullish(),
    merged_at: z.string().nullish(),
    head: z.object({
      ref: branchName,
      sha: commit,
      repo: z.object({ full_name: z.string() }).nullish(),
    }),
    base: z.object({ repo: z.object({ full_name: z.string() }) }),
  })
  .transform(({ number, html_url: url, head, base, ...rest }): EventPullRequest => {
    const isOwn = head.repo?.full_name === base.repo.full_name;
    return { number, url, state: stateOf(rest), headBranch: isOwn ? head.ref : null, headCommit: head.sha };
  });

/** An issue that is a pull request tells little of it. */
const issue = z.object({
  number: pullNumber,
  state: z.enum(['open', 'closed']).default('open'),
  pull_request: z.object({ html_url: webUrl, merged_at: z.string().nullish() }).nullish(),
});

function stateOf(said: {
  state: 'open' | 'closed';
  merged?: boolean | null | undefined;
  merged_at?: string | null | undefined;
}): EventPullRequest['state'] {
  return said.merged || said.merged_at ? 'merged' : said.state;
}

function pullRequestOf({
  number,
  state,
  pull_request: pull,
}: z.output<typeof issue>): EventPullRequest | null {
  if (!pull) return null;
  const { html_url: url, merged_at } = pull;
  return { number, url, state: stateOf({ state, merged_at }), headBranch: null, headCommit: null };
}

export const readPullRequest = reader(
  z.object({ sender: user, pull_request: pullRequest }),
  ({ sender, pull_request: pull }) => ({
    actor: sender,
    pullRequest: pull,
    commit: pull.headCommit,
    branch: pull.headBranch,
  }),
);

export const readIssue = reader(z.object({ sender: user, issue: z.object({}) }), ({ sender }) => ({
  actor: sender,
}));

export const readIssueComment = reader(
  z.object({ sender: user, issue, comment: z.looseObject({ body: words, html_url: webUrl }) }),
  ({ sender, issue: about, comment: { body, html_url: url, ...by } }) => {
    const pull = pullRequestOf(about);
    const intro = `${sender ?? 'Somebody'} commented`;
    return {
      actor: sender,
      pullRequest: pull,
      remark: pull && isHeeded(by) ? said({ kind: 'comment', intro, body, url }) : null,
      comment: { text: body, url },
    };
  },
);

const reviewed: Record<string, string> = { changes_requested: 'requested changes' };

export const readReview = reader(
  z.object({
    sender: user,
    pull_request: pullRequest,
    review: z.looseObject({ state: z.string().toLowerCase(), body: words, html_url: webUrl }),
  }),
  ({ sender, pull_request: pull, review: { state, body, html_url: url, ...by } }) => {
    const intro = `${sender ?? 'Somebody'} ${reviewed[state] ?? 'reviewed'}`;
    const remark = isHeeded(by) ? said({ kind: 'review', intro, body, url }) : null;
    return { actor: sender, pullRequest: pull, remark };
  },
);

export const readReviewComment = reader(
  z.object({
    sender: user,
    pull_request: pullRequest,
    comment: z.looseObject({ body: words, html_url: webUrl, path: shortName, line: z.int().nullish() }),
  }),
  ({ sender, pull_request: pull, comment: { body, html_url: url, path, line, ...by } }) => {
    const place = line ? `${path}, line ${line}` : path;
    const intro = `${sender ?? 'Somebody'} commented on ${place}`;
    const remark = isHeeded(by) ? said({ kind: 'comment', intro, body, url }) : null;
    return { actor: sender, pullRequest: pull, remark };
  },
);

export const readPush = reader(
  z.object({ sender: user, ref: z.string(), after: commit }),
  ({ sender, ref, after }) => ({ actor: sender, commit: after, branch: branchOf(ref) }),
);

/** The pull requests of a check whose base is another repository are that one's own. */
const checked = z.object({
  repository: z.object({ id: z.number() }),
  sender: user,
});
const pulls = z.array(
  z.object({ number: pullNumber, base: z.object({ repo: z.object({ id: z.number() }) }) }),
);

function numbersOf(listed: z.output<typeof pulls>, { repository }: z.output<typeof checked>): number[] {
  return listed.filter(({ base }) => base.repo.id === repository.id).map(({ number }) => number);
}

export const readCheckRun = reader(
  checked.extend({
    check_run: z.object({
      name: shortName,
      head_sha: commit,
      html_url: webUrl.nullish(),
      output: z.object({ title: words, summary: words }).nullish(),
      check_suite: z.object({ head_branch: branchName.nullish() }).nullish(),
      pull_requests: pulls,
    }),
  }),
  ({ check_run: run, ...event }) => ({
    actor: event.sender,
    numbers: numbersOf(run.pull_requests, event),
    commit: run.head_sha,
    branch: run.check_suite?.head_branch ?? null,
    remark: failure({
      name: run.name,
      commit: run.head_sha,
      details: [run.output?.title, run.output?.summary].filter(Boolean).join('\n\n'),
      url: run.html_url ?? null,
    }),
  }),
);

export const readWorkflowRun = reader(
  checked.extend({
    workflow_run: z.object({
      name: shortName.nullish(),
      head_sha: commit,
      head_branch: branchName.nullish(),
      html_url: webUrl,
      pull_requests: pulls,
    }),
  }),
  ({ workflow_run: run, ...event }) => ({
    actor: event.sender,
    numbers: numbersOf(run.pull_requests, event),
    commit: run.head_sha,
    branch: run.head_branch ?? null,
    remark: failure({ name: run.name ?? 'A workflow', commit: run.head_sha, details: '', url: run.html_url }),
  }),
);

export const readStatus = reader(
  z.object({
    sender: user,
    sha: commit,
    context: shortName,
    description: words,
    target_url: webUrl.nullish().catch(null),
    branches: z.array(z.object({ name: branchName, commit: z.object({ sha: z.string() }) })),
  }),
  ({ sender, sha, context, description, target_url: url, branches }) => ({
    actor: sender,
    commit: sha,
    branch: branches.find((each) => each.commit.sha === sha)?.name ?? null,
    remark: failure({ name: context, commit: sha, details: description, url: url ?? null }),
  }),
);
