/** A command that cannot go on; the message is what to tell the person at the terminal. */
export class CommandError extends Error {
  override name = 'CommandError';
}
