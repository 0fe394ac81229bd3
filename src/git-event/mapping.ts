import type { GitHostKind } from '../git-host/host.ts';
import type { GitEvent, GitTrigger } from './event.ts';
import * as github from './github.ts';
import * as gitlab from './gitlab.ts';
import type { ReadEvent } from './reading.ts';

type Mapping = Record<string, { triggers: readonly GitTrigger[]; read: ReadEvent }>;

/** What is in no table matters to nobody. What has no trigger matters to pull requests that are tracked. */
export const mappings: Record<GitHostKind, Mapping> = {
  github: {
    'pull_request.opened': { triggers: ['pull_request.opened'], read: github.readPullRequest },
    'pull_request.reopened': { triggers: [], read: github.readPullRequest },
    'pull_request.synchronize': { triggers: ['pull_request.synchronize'], read: github.readPullRequest },
    'pull_request.merged': { triggers: ['pull_request.merged'], read: github.readPullRequest },
    'pull_request.closed': { triggers: ['pull_request.closed'], read: github.readPullRequest },
    'pull_request_review.changes_requested': { triggers: [], read: github.readReview },
    'pull_request_review.commented': { triggers: [], read: github.readReview },
    'pull_request_review_comment.created': { triggers: [], read: github.readReviewComment },
    'issues.opened': { triggers: ['issues.opened'], read: github.readIssue },
    'issues.labeled': { triggers: ['issues.labeled'], read: github.readIssue },
    'issue_comment.created': { triggers: ['issue_comment.created'], read: github.readIssueComment },
    'issue_comment.commanded': {
      triggers: ['issue_comment.created', 'pull_request.command'],
      read: github.readIssueComment,
    },
    'check_run.failed': { triggers: [], read: github.readCheckRun },
    'workflow_run.failed': { triggers: [], read: github.readWorkflowRun },
    'status.failed': { triggers: [], read: github.readStatus },
    push: { triggers: ['push'], read: github.readPush },
  },
  gitlab: {
    'merge_request.opened': { triggers: ['merge_request.opened'], read: gitlab.readMergeRequest },
    'merge_request.reopened': { triggers: [], read: gitlab.readMergeRequest },
    'merge_request.updated': { triggers: ['merge_request.updated'], read: gitlab.readMergeRequest },
    'merge_request.merged': { triggers: ['merge_request.merged'], read: gitlab.readMergeRequest },
    'merge_request.closed': { triggers: ['merge_request.closed'], read: gitlab.readMergeRequest },
    'issue.opened': { triggers: ['issue.opened'], read: gitlab.readIssue },
    'note.created': { triggers: ['note.created'], read: gitlab.readNote },
    'pipeline.failed': { triggers: [], read: gitlab.readPipeline },
    push: { triggers: ['push'], read: gitlab.readPush },
  },
};

const keyOf = { github: github.githubKey, gitlab: gitlab.gitlabKey };

/** What an event of a host means here; null when it means nothing. `name` is the host's own name of it. */
export function mapEvent(kind: GitHostKind, name: string, payload: unknown): GitEvent | null {
  const key = keyOf[kind](name, payload);
  const row = Object.hasOwn(mappings[kind], key) ? mappings[kind][key] : undefined;
  const reading = row?.read(payload);
  return row && reading ? { kind, triggers: row.triggers, ...reading } : null;
}
