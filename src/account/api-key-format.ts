// The text of an API key: `rs_org_` or `rs_user_`, 43 characters (32 random bytes in base62), and a checksum of 6.
// The checksum lets a scanner recognise a leaked key and keeps garbage away from the database. It proves nothing:
// only the stored hash says whether a key exists.

import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

export type ApiKeyKind = 'org' | 'user';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_BYTES = 32;
/** 62^43 is the first power of 62 above 2^256. */
const SECRET_WIDTH = 43;
/** 62^6 is the first power of 62 above 2^32. */
const CHECKSUM_WIDTH = 6;
const SHOWN_WIDTH = 12;
const PATTERN = /^rs_(org|user)_[0-9A-Za-z]{49}$/;
const LONGEST = 'rs_user_'.length + SECRET_WIDTH + CHECKSUM_WIDTH;

export function makeApiKey(kind: ApiKeyKind, randomBytes: (size: number) => Uint8Array): string {
  const bytes = randomBytes(SECRET_BYTES);
  if (bytes.length !== SECRET_BYTES) throw new RangeError(`an API key needs ${SECRET_BYTES} random bytes`);
  const secret = toBase62(BigInt(`0x${Buffer.from(bytes).toString('hex')}`), SECRET_WIDTH);
  const body = `rs_${kind}_${secret}`;
  return body + checksumOf(body);
}

/** Tells the kind of a well-formed key; null for anything that was never made by `makeApiKey`. */
export function parseApiKey(text: string): { kind: ApiKeyKind } | null {
  if (text.length > LONGEST) return null;
  const kind = PATTERN.exec(text)?.[1];
  if (kind !== 'org' && kind !== 'user') return null;
  const body = text.slice(0, -CHECKSUM_WIDTH);
  return text.endsWith(checksumOf(body)) ? { kind } : null;
}

/** What is stored. A plain hash is enough because the key is 256 random bits, which nobody can guess through. */
export function hashApiKey(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** What lists show, so that a person can tell keys apart. */
export function prefixOf(text: string): string {
  return text.slice(0, SHOWN_WIDTH);
}

function checksumOf(body: string): string {
  return toBase62(BigInt(crc32(body)), CHECKSUM_WIDTH);
}

function toBase62(value: bigint, width: number): string {
  let rest = value;
  let digits = '';
  while (rest > 0n) {
    digits = ALPHABET.charAt(Number(rest % 62n)) + digits;
    rest /= 62n;
  }
  return digits.padStart(width, '0');
}
