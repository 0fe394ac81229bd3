// Sealing of secrets at rest: AES-256-GCM under a key of the ring, bound to the place it is stored in.
//
//   1 byte    version
//   8 bytes   id of the master key
//   16 bytes  salt: the message key is HKDF-SHA256(master key, salt)
//   12 bytes  nonce
//   n bytes   ciphertext
//   16 bytes  tag
//
// Random nonces under one AES-GCM key are safe for about 2^32 messages, which a service that seals the answer
// of every idempotent request reaches in weeks. Each message therefore has its own key; salt and nonce
// together are 224 random bits, so a repeat is out of reach and a master key needs no message counter.
// The associated data is everything before the nonce plus the context (`<table>.<column>:<row id>`), so a value
// moved to another row or column does not open.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { KeyRing, MasterKey } from './key-ring.ts';

export interface Sealer {
  /** Encrypts under the current key; the same context is needed to open. */
  seal(plain: string | Buffer, context: string): Buffer;
  /** Decrypts text that was sealed from a string. */
  open(sealed: Buffer, context: string): string;
  /** Decrypts bytes. */
  openBytes(sealed: Buffer, context: string): Buffer;
  /** The id of the master key a value is sealed with, without opening it. */
  keyIdOf(sealed: Buffer): string;
  /** The id of the key that `seal` uses. */
  readonly currentKeyId: string;
}

export class SealError extends Error {
  override readonly name = 'SealError';
  readonly reason: 'unknown_key' | 'damaged' | 'not_text';

  constructor(reason: SealError['reason'], sentence: string, options?: ErrorOptions) {
    super(sentence, options);
    this.reason = reason;
  }
}

const VERSION = 1;
const KEY_ID_END = 9;
const SALT_END = 25;
const NONCE_END = 37;
const TAG_BYTES = 16;
const KEY_PURPOSE = 'replica-service seal v1';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * `reload` reads the ring again from where it came. It is asked when a value names a key the ring does not have,
 * so that a running service follows a key added by a command in another process.
 */
export function createSealer(ring: KeyRing, options: { reload?: () => KeyRing } = {}): Sealer {
  let held = ring;

  function findKey(id: string, context: string): MasterKey {
    const known = held.keys.get(id);
    if (known !== undefined) return known;
    const cause = tryReload();
    const found = held.keys.get(id);
    if (found !== undefined) return found;
    throw new SealError(
      'unknown_key',
      `${context} is sealed with key ${id}, which is not in the ring: put that key back behind the current one ` +
        'in REPLICA_SECRET_KEY or in the key file',
      { cause },
    );
  }

  function tryReload(): unknown {
    try {
      if (options.reload !== undefined) held = options.reload();
      return undefined;
    } catch (error) {
      return error;
    }
  }

  function openBytes(sealed: Buffer, context: string): Buffer {
    const key = findKey(keyIdOf(sealed), context);
    const salt = sealed.subarray(KEY_ID_END, SALT_END);
    const nonce = sealed.subarray(SALT_END, NONCE_END);
    const decipher = createDecipheriv('aes-256-gcm', messageKey(key, salt), nonce, {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(associatedData(sealed.subarray(0, SALT_END), context));
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
    const body = decipher.update(sealed.subarray(NONCE_END, sealed.length - TAG_BYTES));
    try {
      return Buffer.concat([body, decipher.final()]);
    } catch (error) {
      throw new SealError('damaged', `${context} does not open: it was changed or moved after sealing`, {
        cause: error,
      });
    }
  }

  return {
    get currentKeyId() {
      return held.current.id;
    },
    keyIdOf,
    openBytes,

    open(sealed, context) {
      try {
        return utf8.decode(openBytes(sealed, context));
      } catch (error) {
        if (error instanceof SealError) throw error;
        throw new SealError('not_text', `${context} holds bytes that are not UTF-8 text`);
      }
    },

    seal(plain, context) {
      // Encoding would silently put U+FFFD in place of a lone surrogate, and the text would come back changed.
      if (typeof plain === 'string' && !plain.isWellFormed()) {
        throw new SealError('not_text', `${context}: text with a lone surrogate cannot be sealed`);
      }
      const random = randomBytes(NONCE_END - KEY_ID_END);
      const salt = random.subarray(0, SALT_END - KEY_ID_END);
      const nonce = random.subarray(SALT_END - KEY_ID_END);
      const header = Buffer.concat([sealedPrefix(held.current.id), salt]);
      const cipher = createCipheriv('aes-256-gcm', messageKey(held.current, salt), nonce);
      cipher.setAAD(associatedData(header, context));
      const body = typeof plain === 'string' ? cipher.update(plain, 'utf8') : cipher.update(plain);
      return Buffer.concat([header, nonce, body, cipher.final(), cipher.getAuthTag()]);
    },
  };
}

/** The first bytes of everything sealed with this key in the present format. */
export function sealedPrefix(keyId: string): Buffer {
  return Buffer.concat([Buffer.of(VERSION), Buffer.from(keyId, 'hex')]);
}

function keyIdOf(sealed: Buffer): string {
  if (sealed.length < NONCE_END + TAG_BYTES || sealed[0] !== VERSION) {
    throw new SealError('damaged', 'the value is not a sealed secret: too short or of an unknown version');
  }
  return sealed.toString('hex', 1, KEY_ID_END);
}

function messageKey(key: MasterKey, salt: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', key.secret, salt, KEY_PURPOSE, 32));
}

function associatedData(header: Buffer, context: string): Buffer {
  return Buffer.concat([header, Buffer.from(context, 'utf8')]);
}
