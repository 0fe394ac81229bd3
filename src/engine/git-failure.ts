import { GitFailure } from './git-process.ts';

type Failure = {
  pattern: RegExp;
  message: (repository: { name: string; branch: string | null }) => string;
  /** How long it is worth trying again: the gateway may be starting anew. */
  retryMs: number;
};

/** The first pattern that fits decides, so the certain ones stand before the general ones. */
const failures: Failure[] = [
  {
    pattern: /No space left on device|Disk quota exceeded|File too large|unable to write|write error/i,
    message: ({ name }) =>
      `The disk of the workspace is full: the repository ${name} does not fit. Choose a larger size or a smaller repository.`,
    retryMs: 0,
  },
  {
    pattern: /Out of memory|mmap failed|unable to create thread|died of signal 9/i,
    message: ({ name }) =>
      `The workspace has too little memory to check out the repository ${name}. Choose a larger size.`,
    retryMs: 0,
  },
  {
    pattern: /Remote branch .* not found|couldn't find remote ref/i,
    message: ({ name, branch }) =>
      `The repository ${name} has no branch ${branch ?? 'of that name'}. Choose one that exists.`,
    retryMs: 0,
  },
  {
    pattern: /could not read Username|could not read Password|Authentication failed|error: (?:401|403|407)/,
    message: ({ name }) =>
      `The git host refused access to the repository ${name}: its credential is missing, wrong or has expired. Check the credential of the repository.`,
    retryMs: 0,
  },
  {
    pattern: /repository '[^'\n]*' not found|error: 404|does not appear to be a git repository/i,
    message: ({ name }) =>
      `The git host does not know the repository ${name}, or its credential may not see it. Check its URL and credential.`,
    retryMs: 0,
  },
  {
    pattern: /error: (?:429|5\d\d)|Operation too slow|timed out/i,
    message: ({ name }) => `The git host of the repository ${name} did not answer. Try again later.`,
    retryMs: 10_000,
  },
  {
    pattern:
      /Failed to connect|Couldn't connect|Connection refused|Connection reset|Empty reply|unexpected disconnect|hung up|early EOF|RPC failed|Recv failure|bad pack|unable to access|transfer closed/i,
    message: ({ name }) => `The git host of the repository ${name} cannot be reached. Try again later.`,
    retryMs: 60_000,
  },
  {
    pattern: /git could not be started/,
    message: () => 'git is not installed in the workspace.',
    retryMs: 0,
  },
];

/** Turns what git wrote into a sentence for the user; what it wrote stays with it as the cause. */
export function describeGitFailure(
  failure: GitFailure,
  repository: { name: string; branch: string | null },
): { error: Error; retryMs: number } {
  const known = failures.find(({ pattern }) => pattern.test(failure.stderr));
  const cause = new Error(failure.stderr.slice(-4_096).trim() || 'git failed without a word');
  const message =
    known?.message(repository) ??
    `The repository ${repository.name} could not be checked out for a reason that is not known. Try again.`;
  return { error: new Error(message, { cause }), retryMs: known?.retryMs ?? 0 };
}

export function isMissingBranch(error: unknown): boolean {
  return error instanceof GitFailure && /Remote branch .* not found/.test(error.stderr);
}
