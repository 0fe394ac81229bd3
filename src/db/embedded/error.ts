/** The sentence says what is wrong with the embedded server and what the operator can do; the cause is for the log. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}
