export type GitErrorKind =
  | 'not_found'
  | 'unauthorized'
  | 'unreachable'
  | 'refused'
  | 'timeout'
  | 'too_large'
  | 'missing_branch'
  | 'empty'
  | 'failed';

/** A git operation that did not succeed. The message is for the user; the cause holds what git said, for the log. */
export class GitError extends Error {
  override name = 'GitError';
  kind: GitErrorKind;

  constructor(kind: GitErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

type Failure = { pattern: RegExp; kind: GitErrorKind; message: (match: RegExpExecArray) => string };

/** The first pattern that fits decides, so the certain ones stand before the general ones. */
const failures: Failure[] = [
  {
    pattern: /died of signal 25|File too large|Out of memory|mmap failed|unable to create thread/i,
    kind: 'too_large',
    message: () => 'The repository is too large for this service.',
  },
  {
    pattern:
      /could not read Username|could not read Password|Authentication failed|returned error: (?:401|403|407)/,
    kind: 'unauthorized',
    message: () =>
      'The git host refused access: the credential is missing or wrong, or the repository does not exist.',
  },
  {
    pattern: /returned error: 3\d\d|unable to update url base from redirection/,
    kind: 'refused',
    message: () => 'The git host redirects to another address; use the address it redirects to.',
  },
  {
    pattern:
      /repository '[^'\n]*' not found|returned error: 404|does not appear to be a git repository|no such file or directory/i,
    kind: 'not_found',
    message: () => 'The git host knows no repository at this URL.',
  },
  {
    pattern: /couldn't find remote ref|Could not find remote branch/i,
    kind: 'missing_branch',
    message: () => 'The branch no longer exists in the repository.',
  },
  {
    pattern: /Operation too slow|Operation timed out|Connection timed out/i,
    kind: 'timeout',
    message: () => 'The git host did not answer in time.',
  },
  {
    pattern: /certificate|SSL|TLS|gnutls/i,
    kind: 'unreachable',
    message: () =>
      'No secure connection to the git host could be made; its certificate is not trusted or TLS failed.',
  },
  {
    pattern: /returned error: (\d{3})/,
    kind: 'unreachable',
    message: (match) => `The git host answered with the HTTP status ${match[1]}.`,
  },
  {
    pattern:
      /Could not resolve|Failed to connect|Couldn't connect|Connection refused|Connection reset|Empty reply|unexpected disconnect|hung up|early EOF|unable to access/i,
    kind: 'unreachable',
    message: () => 'The git host cannot be reached.',
  },
  {
    pattern:
      /not valid: is this a git repository|invalid server response|dumb http transport|unexpected line|protocol error/i,
    kind: 'not_found',
    message: () => 'The server at this URL does not answer like a git host.',
  },
  {
    pattern: /git: not found|exec: git/,
    kind: 'failed',
    message: () => 'git is not installed where this service runs.',
  },
];

/** Turns what git wrote before it failed into an error. git runs with `LC_ALL=C`, so that its words are known. */
export function describeFailure(stderr: string): GitError {
  const cause = new Error(stderr.slice(-maxCauseCharacters).trim() || 'git failed without a word');
  for (const { pattern, kind, message } of failures) {
    const match = pattern.exec(stderr);
    if (match) return new GitError(kind, message(match), { cause });
  }
  return new GitError('failed', 'git failed for a reason this service does not know.', { cause });
}

const maxCauseCharacters = 4096;
