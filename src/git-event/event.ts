import type { githubTriggers, gitlabTriggers } from '../contract/automation.ts';
import type { GitHostKind } from '../git-host/host.ts';

export type GitTrigger = (typeof githubTriggers)[number] | (typeof gitlabTriggers)[number];

/** What a git host told, in the one form in which automations and pull requests read it. */
export type GitEvent = {
  kind: GitHostKind;
  /** What it is for automations; none when it only matters to pull requests that are tracked, two for a comment that is also a command. */
  triggers: readonly GitTrigger[];
  /** Who caused it, as the host names them. */
  actor: string | null;
  /** The pull request it is about. */
  pullRequest: EventPullRequest | null;
  /** Pull requests that it names in passing: those of a check's commit. */
  numbers: readonly number[];
  /** The commit and branch that a check ran on, or that were pushed. */
  commit: string | null;
  branch: string | null;
  /** What is to reach the agent of a tracked pull request. */
  remark: Remark | null;
  /** A comment, whose text may begin with a command. */
  comment: { text: string; url: string } | null;
};

export type EventPullRequest = {
  number: number;
  url: string;
  state: 'open' | 'merged' | 'closed';
  /** Null when the event does not say, and for a branch of another repository. */
  headBranch: string | null;
  headCommit: string | null;
};

export type Remark = {
  kind: 'check' | 'review' | 'comment';
  /** Equal for what says the same: check and commit, or the address of the comment. */
  key: string;
  text: string;
  url: string | null;
};

/** An event of a repository of an organization, taken once. */
export type TakenEvent = {
  organizationId: string;
  repositoryId: string;
  deliveryId: string;
  event: GitEvent;
  payload: unknown;
};
