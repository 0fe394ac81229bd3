/** What the service asks of a git host besides git itself. */
export type GitHost = {
  /** Opens a pull request, or finds the open one of the branch. */
  openPullRequest(request: PullRequestDraft, signal: AbortSignal): Promise<OpenedPullRequest>;
  comment(comment: { number: number; body: string }, signal: AbortSignal): Promise<{ url: string }>;
};

export type PullRequestDraft = { title: string; body: string; head: string; base: string; isDraft: boolean };
export type OpenedPullRequest = { number: number; url: string };

export type GitHostKind = 'github' | 'gitlab';
export type GitHostSetting = { kind: GitHostKind; apiUrl: string };

/** The host has refused or cannot be reached; the message is a sentence for the user. */
export class GitHostError extends Error {
  override name = 'GitHostError';
}

/** What is known of the hosts that everybody uses; others are set by the organization. */
export function usualSetting(host: string): GitHostSetting | null {
  if (host === 'github.com') return { kind: 'github', apiUrl: 'https://api.github.com' };
  if (host === 'gitlab.com') return { kind: 'gitlab', apiUrl: 'https://gitlab.com/api/v4' };
  return null;
}
