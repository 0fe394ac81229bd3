/** What was typed cannot be done; the message says why, and is all that is printed. */
export class UsageError extends Error {
  override name = 'UsageError';
}
