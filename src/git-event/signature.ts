import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** Whether the bytes were signed with the secret, as GitHub does it: `sha256=` and the hex HMAC-SHA256. */
export function isSignedWith(
  secret: string,
  { bytes, signature }: { bytes: Buffer; signature: string },
): boolean {
  const hex = /^sha256=([0-9a-f]{64})$/.exec(signature)?.[1];
  if (hex === undefined) return false;
  return timingSafeEqual(createHmac('sha256', secret).update(bytes).digest(), Buffer.from(hex, 'hex'));
}

/** Whether two secrets are equal, in a time that tells nothing of either, not even their length. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
