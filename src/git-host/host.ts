import type { Dispatcher } from 'undici';
import { GitError, type GitErrorKind } from '../git/failure.ts';

/** What the service asks of a git host besides git itself. */
export type GitHost = {
  /** Opens a pull request, or finds the open one of the branch. */
  openPullRequest(request: PullRequestDraft, signal: AbortSignal): Promise<FoundPullRequest>;
  comment(comment: { number: number; body: string }, signal: AbortSignal): Promise<{ url: string }>;
  /** The open pull requests that come from a branch of the repository itself. */
  findPullRequests(branch: string, signal: AbortSignal): Promise<FoundPullRequest[]>;
};

export type PullRequestDraft = { title: string; body: string; head: string; base: string; isDraft: boolean };
export type FoundPullRequest = {
  number: number;
  url: string;
  headCommit: string | null;
  /** When the host has last changed it, by the host's clock. */
  changedAt: Date | null;
};

export type GitHostKind = 'github' | 'gitlab';
export type GitHostSetting = { kind: GitHostKind; apiUrl: string };

/** Where a repository is spoken of: the API of its host, and the name it has there. */
export type GitHostPlace = GitHostSetting & {
  /** As it stands in URLs of repositories. */
  host: string;
  fullName: string;
  dispatcher: Dispatcher;
};

type Circumstances = ErrorOptions & { kind?: GitErrorKind; status?: number };

/** The host has refused or cannot be reached; the message is a sentence for the user. */
export class GitHostError extends GitError {
  override name = 'GitHostError';
  /** What the host answered with; null when it did not. */
  status: number | null;

  constructor(message: string, { kind = 'refused', status, ...options }: Circumstances = {}) {
    super(kind, message, options);
    this.status = status ?? null;
  }
}

const usualSettings: Record<string, GitHostSetting> = {
  'github.com': { kind: 'github', apiUrl: 'https://api.github.com' },
  'gitlab.com': { kind: 'gitlab', apiUrl: 'https://gitlab.com/api/v4' },
};

export const usualApiUrls = Object.values(usualSettings).map(({ apiUrl }) => apiUrl);

/** What is known of the hosts that everybody uses; others are set by the organization. */
export function usualSetting(host: string): GitHostSetting | null {
  return Object.hasOwn(usualSettings, host) ? (usualSettings[host] ?? null) : null;
}
