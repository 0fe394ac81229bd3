import { randomBytes } from 'node:crypto';

const processId = randomBytes(9).toString('base64url');
let requests = 0;

/** The caller's id, or one of this process: unique like a UUID, and made without asking for randomness each time. */
export function requestId(header: string | string[] | undefined): string {
  if (typeof header === 'string' && /^[\w.:-]{1,128}$/.test(header)) return header;
  requests += 1;
  return `${processId}-${requests.toString(36)}`;
}
