/** Somebody has signed up with this address in the meantime. */
export class EmailTakenError extends Error {
  override name = 'EmailTakenError';
}
