/** An error whose message is a whole sentence that a user may read. What any other error says is for the log. */
export class UserSentenceError extends Error {
  override name = 'UserSentenceError';
}

/** What a user is told of an error: its own sentence if it is meant for users, else the fallback. */
export function sentenceFor(error: unknown, fallback: string): string {
  return error instanceof UserSentenceError ? error.message : fallback;
}
